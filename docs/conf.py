"""The documentation site: `make docs` builds it from the files that a clone has."""

from __future__ import annotations

import json
import os
import re
import textwrap
import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx

import askew

DOCS = Path(__file__).parent
ROOT = DOCS.parent
SOURCE = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Source"]

project, version = "Askew", askew.__version__
release = version
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
exclude_patterns = ["conf.py", "_templates"]
templates_path = ["_templates"]
# A parameter in the SQL of an engine is nothing that the lexer of SQL knows.
suppress_warnings = ["misc.highlighting_failure"]
html_theme, html_title = "furo", f"Askew {version}"
html_static_path, html_css_files = ["_static"], ["tables.css"]
html_copy_source = html_show_sourcelink = html_show_copyright = False
html_sidebars = {
    "**": [
        *(f"sidebar/{part}.html" for part in ("brand", "search", "scroll-start", "navigation")),
        *("versions.html", "sidebar/scroll-end.html"),
    ]
}
myst_heading_anchors = 4
autodoc_default_options = {"members": True, "no-value": True}
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"

# -- pages -----------------------------------------------------------------------------------------

_LINK = re.compile(r"\]\((?!\w+:|#)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


# Files elsewhere that a page of the site begins with.
BEGINNINGS = {"index": ROOT / "README.md", "reference/benchmarks": ROOT / "benchmarks/results.md"}


def read_page(app: Sphinx, name: str, content: list[str]) -> None:
    """A page with its links as the site has them. What is no page is linked in the source."""
    folder = (DOCS / name).parent
    text = _with_links(content[0], folder, folder)
    if name in BEGINNINGS:
        path = BEGINNINGS[name]
        app.env.note_dependency(path, docname=name)
        text = f"{_with_links(path.read_text('utf-8'), path.parent, folder)}\n{text}"
    content[0] = text


def _with_links(text: str, folder: Path, page: Path) -> str:
    """A text of one folder, as part of a page in another."""

    def link(found: re.Match[str]) -> str:
        path, anchor = (folder / found["path"]).resolve(), found["anchor"] or ""
        is_page = path.is_relative_to(DOCS) and path.suffix in {".ipynb", ".md"}
        if is_page or path.suffix in {".png", ".svg"}:
            return f"]({os.path.relpath(path, page)}{anchor})"
        return f"]({SOURCE}/blob/main/{path.relative_to(ROOT)}{anchor})"

    return _LINK.sub(link, text)


class NotebookParser(MystParser):  # type: ignore[misc]
    """A stored notebook as the page that its cells make; nothing is run."""

    supported = ("ipynb",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """As the Markdown that it comes to."""
        cells = json.loads(inputstring)["cells"] if inputstring.startswith("{") else []
        super().parse("\n\n".join(part for cell in cells for part in _cell(cell)), document)


def _cell(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    outputs = [_output(each) for each in cell["outputs"]]
    return [f"```python\n{source}\n```", *outputs]


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "image/svg+xml" in data:
        picture = "".join(data["image/svg+xml"])
        return f"```{{raw}} html\n{picture}\n```"
    text = "".join(output.get("text") or data.get("text/plain", ""))
    return f"```text\n{text}\n```"


# -- the reference of Python -----------------------------------------------------------------------


def read_docstring(*event: Any) -> None:
    """Docstrings are plain text: what is aligned stays so, and no character is markup."""
    lines: list[str] = event[-1]
    parts = re.split(r"\n\s*\n", "\n".join(lines).strip("\n"))
    lines[:] = "\n\n".join(map(_paragraph, parts)).split("\n")


def _paragraph(text: str) -> str:
    if re.search(r"^ |\S {2,}\S|[├└│]", text, re.MULTILINE):
        return "::\n\n" + textwrap.indent(text, "    ")
    marked = re.split(r"(`[^`]+`)", text)
    return "".join(
        f"``{part[1:-1]}``" if at % 2 else re.sub(r"([\\*_|`])", r"\\\1", part)
        for at, part in enumerate(marked)
    )


# -- versions --------------------------------------------------------------------------------------


def list_versions(app: Sphinx, error: Exception | None) -> None:
    """Beside the folders of the versions, a list of them, and the way to the newest."""
    if error is not None or app.builder.name != "html":
        return
    folder = Path(app.outdir).parent
    found = [path.parent.name for path in folder.glob("*/index.html")]
    found.sort(key=lambda name: [int(digits) for digits in re.findall(r"\d+", name)], reverse=True)
    (folder / "versions.js").write_text(f"const VERSIONS = {json.dumps(found)};\n", "utf-8")
    (folder / "index.html").write_text(
        f'<!doctype html><meta http-equiv="refresh" content="0; url={found[0]}/">\n', "utf-8"
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """What Sphinx asks of a configuration that does more than say values."""
    app.add_source_suffix(".ipynb", "ipynb")
    app.add_source_parser(NotebookParser)
    app.connect("source-read", read_page)
    app.connect("autodoc-process-docstring", read_docstring)
    app.connect("build-finished", list_versions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""The Python of every page and notebook has the types that the packages promise."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.notebooks import cells_of, notebooks
from pages import ROOT, fences
from typed_snippets import CHECKERS, type_errors

PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "client/web/README.md",
    ROOT / "deploy/README.md",
]


def snippets() -> Iterator[tuple[str, str]]:
    """Yield the name and text of each module: a fence of a page, or a notebook as one function."""
    for page in PAGES:
        name = page.relative_to(ROOT).with_suffix("").as_posix().replace("/", "_")
        for each in fences(page.read_text("utf-8")):
            if each.language == "python":
                yield f"{name}_{each.line}", each.body
    for path in notebooks():
        cells = "\n".join("".join(cell["source"]) + "\n" for cell in cells_of(path))
        text = "async def page() -> None:\n" + textwrap.indent(cells, "    ")
        yield f"notebook_{path.stem}", text  # in Jupyter, where each cell may await


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_every_snippet_passes_as_it_stands_and_a_wrong_one_does_not(
    checker: str, tmp_path: Path
) -> None:
    """Planted bugs: a name that is not there, and a pick that may be None."""
    modules = dict(snippets())
    assert len(modules) >= 10
    modules["planted"] = """from askew_client import BlockingClient, Missing
print(BlockingClient().near('food', place='home').pick.title)
"""
    for name, text in modules.items():
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
    found = type_errors(checker, tmp_path)
    assert [each for each in found if "planted.py" not in each] == []
    assert [int(re.findall(r":(\d+)", each)[0]) for each in found] == [1, 2]

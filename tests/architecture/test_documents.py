"""Documents name what exists, tell people to type what exists, and say what the code says."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest
from benchmarks import report
from benchmarks.reference import FOLDER, pages

from askew_client.cli.main import cli as askew
from askew_server.cli.main import cli as askew_server

ROOT = Path(__file__).parents[2]
TREES = ("shared", "client", "server")
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "deploy/README.md",
]
SOURCES = [
    path
    for tree in TREES
    for path in sorted((ROOT / tree).rglob("*.py"))
    if "wire/v1" not in path.as_posix()
]

# Not a module: a host of an example, the app's style sheet.
DOTTED = re.compile(r"(?<![\w/.-])askew(?:_client|_server)?(?!\.example|\.tcss)(?:\.\w+)+")
FOLDERS = "shared|client|server|tests|docs|deploy|proto|benchmarks|askew|askew_client|askew_server"
PATH = re.compile(rf"(?<![\w/.~-])(?:{FOLDERS})/[\w./-]*\w")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def is_name(name: str) -> bool:
    """Return True for a module, and for an attribute that can be reached from one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            if not hasattr(found, attribute):
                return attribute in getattr(found, "__annotations__", {})
            found = getattr(found, attribute)
        return True
    return False


def is_path(name: str) -> bool:
    """Return True for a path from the root or a package; NAME stands for that of a new file."""
    if "NAME" in name:
        name = name.rpartition("/")[0]
    return any((ROOT / tree / name).exists() for tree in ("", *TREES))


def is_link(target: str, document: Path) -> bool:
    """Return True where a link leads somewhere; one to another site is taken on trust."""
    if "://" in target:
        return True
    name, _, anchor = target.partition("#")
    path = document.parent / name if name else document
    if not path.exists() or not anchor:
        return path.exists()
    headings = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.MULTILINE)
    made = {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings}
    return anchor in made


def missing(text: str) -> list[str]:
    """Return the modules and paths in a text that do not exist."""
    names = [name for name in DOTTED.findall(text) if not is_name(name)]
    return names + [path for path in PATH.findall(text) if not is_path(path)]


def typed(text: str) -> Iterator[str]:
    """Yield the commands of a document's fences, one a line, joined where they are broken."""
    for block in re.findall(r"^```[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            command = re.sub(r"^\s*\$ ", "", line).strip()
            if re.match(r"(askew|askew-server|make)( |$)", command):
                yield command


def complaint(command: str) -> str | None:
    """Return what is wrong with the first program of a line, or None."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    ends = (at for at, word in enumerate(words) if set(word) <= set("|&;<>()"))
    program, *arguments = words[: next(ends, len(words))]
    if program == "make":
        makefile = (ROOT / "Makefile").read_text("utf-8")
        targets = set(re.findall(r"^([a-z][a-z-]*):(?!=)", makefile, re.MULTILINE))
        asked = {word for word in arguments if "=" not in word and not word.startswith("-")}
        return f"no such target: {asked - targets}" if asked - targets else None
    current: click.Command = {"askew": askew, "askew-server": askew_server}[program]
    while isinstance(current, click.Group) and arguments and not arguments[0].startswith("-"):
        found = current.get_command(click.Context(current), arguments.pop(0))
        if found is None:
            return "no such command"
        current = found
    known = {flag for option in current.params for flag in (*option.opts, *option.secondary_opts)}
    used = {word.partition("=")[0] for word in arguments if re.match(r"--?[a-z]", word)}
    wrong = used - known - {"-h", "--help"}
    return f"no such option: {wrong}" if wrong else None


def test_documents_name_only_places_commands_and_links_that_exist() -> None:
    wrong = {}
    for document in DOCUMENTS:
        text = document.read_text("utf-8")
        found = missing(text) if document.parent.name != "proofs" else []
        found += [link for link in LINK.findall(text) if not is_link(link, document)]
        found += [f"{line}: {told}" for line in typed(text) if (told := complaint(line))]
        if found:
            wrong[document.name] = found
    assert wrong == {}


def test_a_source_names_only_places_that_exist() -> None:
    found = {path: missing(path.read_text("utf-8")) for path in SOURCES}
    assert {path: names for path, names in found.items() if names} == {}


def test_a_place_a_link_and_a_command_that_are_not_there_are_seen() -> None:
    for planted in ("`askew_client.companion`", "see `askew/placement/nothing.py`"):
        assert len(missing(planted)) == 1
    assert not is_link("docs/device.md#nothing", ROOT / "README.md")
    for command in ("make coffee", "askew dance", "askew-server ledger show --everything"):
        assert complaint(command) is not None
    assert complaint("askew catalog | grep -i alien && make nothing") is None


def test_a_page_of_the_reference_is_what_the_code_says() -> None:
    """Planted bugs: a default, a metric or an error that changed, and no page written anew.
    `make report ARGS="--only render"` writes them.
    """
    for name, text in pages().items():
        assert (FOLDER / name).read_text("utf-8") == text, name


@pytest.mark.parametrize(
    "document", ["README.md", "docs/utility.md", "docs/places.md", "docs/guarantees.md"]
)
def test_a_document_says_what_the_report_found(document: str) -> None:
    """Planted bug: a figure changed by hand, or a report of which no document was written."""
    found = json.loads((ROOT / "docs/report.json").read_text("utf-8"))
    text = (ROOT / document).read_text("utf-8")
    assert text.count("<!-- report: ") >= 2
    assert report.rendered(text, report.blocks_of(found)) == text


def test_the_readme_says_how_far_a_pick_is_by_the_report() -> None:
    """Planted bug: another figure in the sentence that people remember."""
    readme = (ROOT / "README.md").read_text("utf-8")
    [told] = re.findall(r"about (\d+) km farther than the best of all", readme)
    sizes = json.loads((ROOT / "docs/report.json").read_text("utf-8"))["worth"]["sizes"]
    signals = [size["ways"][0] for size in sizes]
    assert {signal["way"] for signal in signals} == {"signal"}
    far = [signal[crowd]["extra"][0] for signal in signals for crowd in ("towns", "country")]
    assert round(sum(far) / len(far)) == int(told)
    assert max(far) < 1.5


def test_the_site_has_every_page_once() -> None:
    """Planted bug: a page that is renamed, or written, and not listed in docs/index.md."""
    docs = ROOT / "docs"
    names = re.findall(r"^([\w/*-]+)$", (docs / "index.md").read_text("utf-8"), re.MULTILINE)
    listed = [
        path
        for name in names
        for path in [*docs.glob(f"{name}.md"), *docs.glob(f"{name}.ipynb")] or [docs / name]
    ]
    there = [path for kind in ("md", "ipynb") for path in docs.rglob(f"*.{kind}")]
    assert sorted(listed) == sorted(path for path in there if path.stem != "index")

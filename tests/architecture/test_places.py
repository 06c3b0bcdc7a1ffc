"""Every place that a document or a docstring names is there; the floor plan is what `ls` shows."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TREES = ("shared", "client", "server")
PACKAGES = ("shared/askew", "client/askew_client", "server/askew_server")
ARCHITECTURE = ROOT / "docs/architecture.md"
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/start").glob("*.md")),
    ROOT / "deploy/README.md",
]
SOURCES = [
    path
    for tree in TREES
    for path in sorted((ROOT / tree).rglob("*.py"))
    if "wire/v1" not in path.as_posix()
]
CONTRACTS = {
    contract["id"]: contract
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
}

# Not a module: a host of an example, the app's style sheet.
DOTTED = re.compile(r"(?<![\w/.-])askew(?:_client|_server)?(?!\.example|\.tcss)(?:\.\w+)+")
FOLDERS = "shared|client|server|tests|docs|deploy|proto|benchmarks|askew|askew_client|askew_server"
PATH = re.compile(rf"(?<![\w/.~-])(?:{FOLDERS})/[\w./-]*\w")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def is_name(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute that can be reached from one."""
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
    """Whether a path is there, from the root or from the folder of a package.

    NAME stands for that of a new file, whose folder has to be there.
    """
    if "NAME" in name:
        name = name.rpartition("/")[0]
    return any((ROOT / tree / name).exists() for tree in ("", *TREES))


def anchors(text: str) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


def is_link(target: str, document: Path) -> bool:
    """Whether a link leads somewhere; one to another site is taken on trust."""
    if "://" in target:
        return True
    name, _, anchor = target.partition("#")
    path = document.parent / name if name else document
    if not path.exists():
        return False
    return not anchor or anchor in anchors(path.read_text(encoding="utf-8"))


def missing(text: str) -> list[str]:
    """The modules and paths in a text that do not exist."""
    names = [name for name in DOTTED.findall(text) if not is_name(name)]
    return names + [path for path in PATH.findall(text) if not is_path(path)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_names_only_places_that_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert missing(text) == []
    assert [link for link in LINK.findall(text) if not is_link(link, document)] == []


def test_a_source_names_only_places_that_exist() -> None:
    found = {path: missing(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "planted",
    [
        "`askew_client.companion`",
        "from askew_server.analyst_client import AnalystClient",
        "`askew.placement.OffsetRule`",
        "see server/askew_server/gaussian_prior.py",
        "[proof](shared/askew/latice.py)",
        "`askew/placement/posterior.py`",
        "`askew/rooms/NAME.py`",
    ],
)
def test_a_place_that_is_not_there_is_seen(planted: str) -> None:
    assert len(missing(planted)) == 1


@pytest.mark.parametrize(
    "innocent",
    [
        "`askew.mechanisms.tally` and askew.wire.queries.query_to_bytes.",
        "in shared/askew/noise/lattice.py, and askew/mechanisms/shortfall.py.",
        "`askew.retrieval.rules.RetrievalRule.answer`",
        "~/.config/askew/config.toml, askew.example.org:443, tests/guarantees",
    ],
)
def test_a_place_that_is_there_is_let_be(innocent: str) -> None:
    assert missing(innocent) == []


def test_a_dead_link_is_seen() -> None:
    readme = ROOT / "README.md"
    assert not is_link("docs/nothing.md", readme)
    assert not is_link("docs/device.md#nothing", readme)
    assert is_link("docs/device.md#settings", readme)


def rooms(package: str) -> Iterator[tuple[str, str]]:
    """The floor plan that docs/architecture.md draws of a package: each room, and its line."""
    text = ARCHITECTURE.read_text(encoding="utf-8")
    block = re.search(rf"^{package}/.*\n((?:  .*\n)+)", text, re.MULTILINE)
    assert block, f"no plan of {package}"
    for line in re.findall(r"^  (\S.*)$", block[1], re.MULTILINE):
        names, _, words = re.sub(r" {2,}", "\t", line).rpartition("\t")
        for name in re.split(r"[\t ]+", names):
            yield name, words


@pytest.mark.parametrize("package", PACKAGES)
def test_the_floor_plan_is_what_ls_shows(package: str) -> None:
    """Each room once, with words beside it, and none above a room that may not import it."""
    drawn = dict(rooms(package))
    assert len(drawn) == len([*rooms(package)])
    shown = {
        path.name + "/" * path.is_dir()
        for path in (ROOT / package).iterdir()
        if not path.name.startswith("__") and (path.is_dir() or path.suffix == ".py")
    }
    assert drawn.keys() == shown
    assert all(drawn.values())
    layers = next(
        each["layers"]
        for each in CONTRACTS.values()
        if each.get("containers") == [package.partition("/")[2]]
    )
    level = {name.strip(): at for at, row in enumerate(layers) for name in row.split("|")}
    levels = [level[name.removesuffix("/").removesuffix(".py")] for name in drawn]
    assert levels == sorted(levels)


# What a module needs that is not pure: whoever makes one of these wires things up.
MADE = {
    *(
        "SystemBits",
        "Ledger",
        "SignalStore",
        "SignalStore",
        "ProfileStore",
        "ReleaseReader",
        "ReleaseJob",
    ),
    *("GrpcTransport", "LocalTransport", "ShapedTransport", "Device", "open_engine"),
}


def wiring(path: Path) -> set[str]:
    """The collaborators that a module makes itself."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    calls = (node.func for node in nodes if isinstance(node, ast.Call))
    return {each.id for each in calls if isinstance(each, ast.Name)} & MADE


def test_things_are_wired_up_where_the_architecture_says() -> None:
    """Nowhere else is one of them made, but for the store's own copy in `SignalStore.with_caps` and
    the ids of the entries of both ledgers.
    """
    text = ARCHITECTURE.read_text(encoding="utf-8")
    section = text.partition("## Wiring")[2].partition("\n## ")[0]
    named = set(re.findall(r"^- `([\w/]+(?:\.py|/))`", section, re.MULTILINE))
    wired = {path.relative_to(ROOT).as_posix() for path in SOURCES if wiring(path)}
    wired -= {"client/askew_client/signals/store.py", "server/askew_server/ledger/store.py"}
    places = {f"{path.rpartition('/')[0]}/" if "/cli/" in path else path for path in wired}
    assert places == named


def test_the_glossary_is_short_and_has_each_term_once() -> None:
    text = (ROOT / "docs/vocabulary.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")][2:]
    terms = [term.strip() for row in rows for term in row[0].split(",")]
    assert len(rows) <= 40
    assert len(terms) == len(set(terms))


def test_a_recipe_has_at_most_ten_lines_of_work() -> None:
    """Three recipes, of numbered steps alone."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipes = text.partition("## Recipes")[2].split("\n### ")[1:]
    assert len(recipes) == 3
    for recipe in recipes:
        title, *lines = filter(None, recipe.splitlines())
        assert len(lines) <= 10, title
        assert all(re.match(r"\d\. |   ", line) for line in lines), title

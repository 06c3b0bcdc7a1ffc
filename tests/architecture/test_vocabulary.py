"""One word for one thing: names that would blur what this program means stay out of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path
    for tree in ("shared", "client", "server")
    for path in (ROOT / tree).rglob("*.py")
    if "wire/v1" not in path.as_posix()
)

# The word we use is on the right. Words with an innocent use (query, cost, options) are not here.
BANNED = {
    "accountant": "odometer",
    "adjacent": "neighboring",
    "allowance": "budget",
    "anonymizer": "mechanism",
    "common": "what it is",
    "delta_f": "l1_sensitivity",
    "embedding": "profile or position",
    "eps": "epsilon",
    "helper": "what it does",
    "helpers": "what they do",
    "histogram": "counts",
    "individual": "privacy unit, or person",
    "manager": "what it does",
    "noise_level": "scale",
    "obfuscated": "signal",
    "privacy_level": "epsilon",
    "quota": "budget",
    "recommend": "retrieve",
    "rerank": "rank",
    "sanitizer": "mechanism",
    "temperature": "scale",
    "tracker": "ledger",
    "user": "person",
    "user_id": "nothing: there is none",
    "users": "people",
    "util": "what it does",
    "utility": "score",
    "utils": "what they do",
}


def words(name: str) -> str:
    """A name as its words in lower case with a line between: "_UserStore" is "_user_store_"."""
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_")
    return f"_{parts}_"


def defined_names(source: str) -> Iterator[str]:
    """Every name that a module gives to something of its own."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def blurred(names: Iterator[str]) -> list[str]:
    """The names that contain a banned word."""
    return [name for name in names if any(f"_{word}_" in words(name) for word in BANNED)]


@pytest.mark.parametrize(
    "planted",
    [
        "def load_user(): ...",
        "class UserStore: ...",
        "class SignalManager: ...",
        "def draw(eps): ...",
        "user_vector = 1",
        "self.users = 1",
        "async def recommend(): ...",
        "def f(*, noise_level=1): ...",
        "def perturbHelper(): ...",
    ],
)
def test_a_banned_word_is_seen(planted: str) -> None:
    assert blurred(defined_names(planted))


@pytest.mark.parametrize(
    "innocent",
    ["def steps(): ...", "class Userland: ...", "commonly = 1", "reused = 1", "x = user"],
)
def test_an_innocent_word_is_let_be(innocent: str) -> None:
    assert blurred(defined_names(innocent)) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_names_keep_to_the_vocabulary(path: Path) -> None:
    names = [path.stem, path.parent.name, *defined_names(path.read_text(encoding="utf-8"))]
    if (
        path.parent.name == "ratings"
    ):  # where "user" is the name of a column in other people's files
        names = [name for name in names if name != "user"]
    assert blurred(iter(names)) == []


def test_no_message_on_the_wire_names_a_person_a_device_or_a_time() -> None:
    """Planted bug: a session, a device id or a clock in the protocol."""
    protos = sorted((ROOT / "proto").rglob("*.proto"))
    fields = [
        name
        for proto in protos
        for name in re.findall(
            r"^\s*(?:repeated )?\w+ (\w+) = \d+;", proto.read_text(), re.MULTILINE
        )
    ]
    telling = {"account", "client", "clock", "cookie", "device", "id", "person", "session"}
    telling |= {"time", "timestamp", "token", "user", "uuid"}
    assert [name for name in fields if telling & set(name.split("_"))] == []
    assert "values" in fields

"""Who may import whom, where chance comes from, and what no message names."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
TREES = (ROOT / "shared/askew", ROOT / "client/askew_client", ROOT / "server/askew_server")
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")
CONTRACTS = {
    contract["id"]: contract
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
}


def lint_imports(directory: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LINT_IMPORTS, "--no-logo", *options, "--config", directory / "pyproject.toml"],
        cwd=directory,
        env={"PYTHONPATH": str(directory), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for tree in TREES:
        shutil.copytree(tree, tmp_path / tree.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


# One new file a room, and what it must not do: a room that no contract looks at is found.
ROOMS = {
    f"{tree.name}/{room.name}": planted
    for tree, planted in zip(TREES[1:], ("import askew_server", "import askew_client"), strict=True)
    for room in tree.iterdir()
    if any(room.rglob("*.py"))  # not what is left of a room that went
}
RULES = [source.replace(".", "/") for source in CONTRACTS["no-wire-in-the-rules"]["source_modules"]]


def test_a_new_file_of_any_room_inherits_its_contract(copy: Path) -> None:
    """Planted in one run: in each room the other role, and gRPC where rules forbid it."""
    for room, planted in ROOMS.items():
        wire = "import grpc\n" if room in RULES else ""
        (copy / room / "surprise.py").write_text(f"{planted}\n{wire}", "utf-8")
    (copy / "askew/placement/surprise.py").write_text("import sqlite3\n", "utf-8")
    report = lint_imports(copy, "--no-cache").stdout
    for room, planted in ROOMS.items():
        module = f"{room.replace('/', '.')}.surprise"
        assert f"{module} -> {planted.removeprefix('import ')}" in report
        assert (f"{module} -> grpc" in report) == (room in RULES)
    assert "askew.placement.surprise -> sqlite3" in report


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.name)
def test_no_module_imports_itself_in_a_circle(tree: Path) -> None:
    """Imports for types alone count too: who reads a circle has to read all of it at once."""
    graph = grimp.build_graph(tree.name, cache_dir=None)
    circles = [name for name in graph.modules if _leads_back(graph, name)]
    assert circles == []


def _leads_back(graph: grimp.ImportGraph, module: str) -> bool:
    below = graph.find_modules_directly_imported_by(module)
    return any(graph.chain_exists(importer=each, imported=module) for each in below)


def loaded_with(*modules: str) -> set[str]:
    """Return what an interpreter in fact loads that imports these; the contracts read source."""
    code = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_a_rule_loads_no_heavy_library() -> None:
    light = (
        "askew.mechanisms",
        "askew.placement",
        "askew.protocol.signal",
        "askew.protocol.ranking",
        "askew_client.client",
        "askew_client.opening",
        "askew_client.device.model",
        "askew_client.profile.store",
        "askew_client.signals.store",
    )
    heavy = {"duckdb", "grpc", "google.protobuf", "rich", "scipy", "sklearn", "textual"}
    assert loaded_with(*light) & heavy == set()


def test_a_server_of_places_loads_no_reader_of_files() -> None:
    """Strangers call it. Planted bug: a model of ratings is imported for a type."""
    assert "pyarrow" not in loaded_with("askew_server.demo.places", "askew_server.serving.models")


def test_what_serves_everybody_loads_nothing_that_counts_or_spends() -> None:
    served = (
        "askew_server.serving.retrieval",
        "askew_server.serving.popularity",
        "askew_server.published.popularity",
        "askew_server.published.reader",
        "askew_server.retrieval.snapshot",
    )
    roots = ("askew_server.counting", "askew_server.ledger", "askew_server.release", "duckdb")
    loaded = loaded_with(*served)
    assert [name for name in loaded for root in roots if f"{name}.".startswith(f"{root}.")] == []


def test_help_loads_no_more_than_a_parser_of_commands() -> None:
    """It is what a shell waits for. Planted bug: `from fractions import Fraction` for a type."""
    late = {"asyncio", "csv", "decimal", "fractions", "json", "numpy", "sqlite3", "tomllib"}
    assert loaded_with("askew_client.cli.main") & late == set()


SEEDED = {"random", "RandomState", "Generator", "PCG64", "MT19937", "default_rng", "seed"}


def weak_randomness(source: str) -> Iterator[str]:
    """Every mention of a generator that is not the kernel's."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names if SEEDED & set(each.name.split(".")))
            case ast.ImportFrom(module=module, names=names):
                parts = {*(module or "").split("."), *(each.name for each in names)}
                yield from sorted(SEEDED & parts)
            case ast.Attribute(attr=name) | ast.Name(id=name) if name in SEEDED:
                yield name


# Public points fitted to public noise, from a public seed: nothing of a person goes in.
FITTED_FROM_A_PUBLIC_SEED = {"shared/askew/placement/rule.py"}
SOURCES = sorted(
    path
    for tree in TREES[:2]
    for path in tree.rglob("*.py")
    if "wire/v1" not in path.as_posix()
    and path.relative_to(ROOT).as_posix() not in FITTED_FROM_A_PUBLIC_SEED
)


def test_nothing_on_a_device_uses_weak_randomness() -> None:
    """A seeded or floating-point generator protects nobody; training may use one."""
    found = {path: list(weak_randomness(path.read_text(encoding="utf-8"))) for path in SOURCES}
    assert {path: names for path, names in found.items() if names} == {}
    assert len(SOURCES) > 100


SERVER = sorted(TREES[2].rglob("*.py"))
# What trains, measures and simulates, from a seed that is public: nobody is protected by it.
SEEDED_ROOMS = {"taste", "demo"}
# It bounds what a release would be like, and sees no person.
SEEDED_FILES = {"release/forecast.py"}


def other_sources(source: str) -> Iterator[str]:
    """Every mention of a source of chance that is not `SystemBits`, whatever it is for."""
    other = {
        "urandom",
        "getrandom",
        "secrets",
        "uuid",
        "uuid1",
        "uuid4",
        "SystemRandom",
        "token_hex",
    }
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names if other & set(each.name.split(".")))
            case ast.ImportFrom(module=module, names=names):
                yield from sorted(other & {*(module or "").split("."), *(n.name for n in names)})
            case ast.Attribute(attr=name) if name in other:
                yield name
            case ast.Constant(value=str(text)) if "/dev/urandom" in text or "/dev/random" in text:
                yield text


def unseeded(source: str) -> Iterator[str]:
    """Every generator that is made without a seed, or by hand from the standard library."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names) if any(each.name == "random" for each in names):
                yield "random"
            case ast.ImportFrom(module="random" | "numpy.random"):
                yield "from random"
            case ast.Call(func=ast.Attribute(attr=name), args=[], keywords=[]) if name in SEEDED:
                if name not in {"random", "seed"}:  # a draw of a generator that was made
                    yield name
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="random"), attr=name)):
                if name not in SEEDED:  # numpy's own, of nobody's seed
                    yield name


def test_the_kernel_is_asked_in_one_place() -> None:
    """In client, shared and server. Planted bug: a salt by `secrets`."""
    files = [*SOURCES, *SERVER]
    found = {path: list(other_sources(path.read_text(encoding="utf-8"))) for path in files}
    assert {path.name: names for path, names in found.items() if names} == {
        "randomness.py": ["urandom"]
    }


def test_a_server_that_protects_somebody_uses_no_weak_randomness() -> None:
    """And what trains makes every generator from a seed, so no draw of it protects anyone."""
    for path in SERVER:
        inside, text = path.relative_to(TREES[2]), path.read_text(encoding="utf-8")
        assert list(unseeded(text)) == [], path
        if inside.parts[0] not in SEEDED_ROOMS and inside.as_posix() not in SEEDED_FILES:
            assert list(weak_randomness(text)) == [], path
    assert len(SERVER) > 100


NUMPY = "import numpy as np\n"
PLANTED: dict[Callable[[str], Iterator[str]], tuple[str, ...]] = {
    weak_randomness: (
        "import random",
        "import numpy.random as chance",
        "from random import gauss",
        "from numpy import random",
        "from numpy.random import laplace",
        "from numpy.random._generator import default_rng",
        NUMPY + "np.random.laplace()",
        "def f(np):\n    return np.random",
    ),
    other_sources: (
        "import secrets",
        "from os import urandom",
        "import os\nos.getrandom(4)",
        "from uuid import uuid4",
        "open('/dev/urandom')",
    ),
    unseeded: ("import random", NUMPY + "np.random.default_rng()", "np.random.normal(3)"),
}


@pytest.mark.parametrize("search", PLANTED)
def test_every_way_to_other_randomness_is_seen(search: Callable[[str], Iterator[str]]) -> None:
    assert [source for source in PLANTED[search] if not list(search(source))] == []


def test_no_message_on_the_wire_names_a_person_a_device_or_a_time() -> None:
    """Planted bug: a session, a device id or a clock in the protocol."""
    protos = sorted((ROOT / "proto").rglob("retrieval.proto"))  # analysts' tokens are another's
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

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
LINT_IMPORTS = str(Path(sys.executable).with_name("lint-imports"))
TOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
CONTRACTS = {contract["id"]: contract for contract in TOOLS["importlinter"]["contracts"]}
# One new file a room, and what it must not do: a room that no contract looks at is found.
ROOMS = {
    f"{tree.name}/{room.name}": planted
    for tree, planted in zip(TREES[1:], ("import askew_server", "import askew_client"), strict=True)
    for room in tree.iterdir()
    if any(room.rglob("*.py"))  # not what is left of a room that went
}
RULES = [source.replace(".", "/") for source in CONTRACTS["no-wire-in-the-rules"]["source_modules"]]


def test_a_new_file_of_any_room_inherits_its_contract(tmp_path: Path) -> None:
    """Planted in one run: in each room the other role, and gRPC where rules forbid it."""
    for tree in TREES:
        shutil.copytree(tree, tmp_path / tree.name, ignore=shutil.ignore_patterns("__pycache__"))
    for room, planted in ROOMS.items():
        wire = "import grpc\n" if room in RULES else ""
        (tmp_path / room / "surprise.py").write_text(f"{planted}\n{wire}", "utf-8")
    (tmp_path / "askew/placement/surprise.py").write_text("import sqlite3\n", "utf-8")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    command = [LINT_IMPORTS, "--no-logo", "--no-cache"]
    environment = {"PYTHONPATH": str(tmp_path), "COLUMNS": "200"}
    report = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    ).stdout
    for room, planted in ROOMS.items():
        module = f"{room.replace('/', '.')}.surprise"
        assert f"{module} -> {planted.removeprefix('import ')}" in report
        assert (f"{module} -> grpc" in report) == (room in RULES)
    assert "askew.placement.surprise -> sqlite3" in report


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.name)
def test_no_module_imports_itself_in_a_circle(tree: Path) -> None:
    """Imports for types alone count too: who reads a circle has to read all of it at once."""
    graph = grimp.build_graph(tree.name, cache_dir=None)
    for module in graph.modules:
        below = graph.find_modules_directly_imported_by(module)
        assert [x for x in below if graph.chain_exists(importer=x, imported=module)] == []


def loaded_with(*modules: str) -> set[str]:
    """Return what an interpreter in fact loads that imports these; the contracts read source."""
    code = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_a_rule_loads_no_heavy_library() -> None:
    light = ("askew.mechanisms", "askew.placement", "askew_client.client", "askew_client.opening")
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
KERNEL = {"urandom", "getrandom", "secrets", "uuid", "uuid1", "uuid4", "SystemRandom", "token_hex"}


def mentions(source: str, names: set[str]) -> Iterator[str]:
    """Every mention of these modules, classes and functions, or of a device file of chance."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=modules):
                yield from (each.name for each in modules if names & {*each.name.split(".")})
            case ast.ImportFrom(module=module, names=parts):
                yield from sorted(names & {*(module or "").split("."), *(n.name for n in parts)})
            case ast.Attribute(attr=name) | ast.Name(id=name) if name in names:
                yield name
            case ast.Constant(value=str(text)) if "/dev/urandom" in text or "/dev/random" in text:
                yield text


def weak_randomness(source: str) -> Iterator[str]:
    """Every mention of a generator that is not the kernel's."""
    return mentions(source, SEEDED)


def other_sources(source: str) -> Iterator[str]:
    """Every mention of a source of chance that is not `SystemBits`, whatever it is for."""
    return mentions(source, KERNEL)


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
    weak = {path: [*weak_randomness(path.read_text("utf-8"))] for path in SOURCES}
    assert {path: names for path, names in weak.items() if names} == {}
    assert len(SOURCES) > 100


SERVER = sorted(TREES[2].rglob("*.py"))
# What trains, measures and simulates, from a seed that is public: nobody is protected by it.
SEEDED_ROOMS = {"taste", "demo"}
# It bounds what a release would be like, and sees no person.
SEEDED_FILES = {"release/forecast.py"}


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
    other = {path: [*other_sources(path.read_text("utf-8"))] for path in (*SOURCES, *SERVER)}
    asks = {path.name: names for path, names in other.items() if names}
    assert asks == {"randomness.py": ["urandom"]}


def test_a_server_that_protects_somebody_uses_no_weak_randomness() -> None:
    """And what trains makes every generator from a seed, so no draw of it protects anyone."""
    for path in SERVER:
        inside, text = path.relative_to(TREES[2]), path.read_text(encoding="utf-8")
        assert list(unseeded(text)) == [], path
        if inside.parts[0] not in SEEDED_ROOMS and inside.as_posix() not in SEEDED_FILES:
            assert list(weak_randomness(text)) == [], path
    assert len(SERVER) > 100


PLANTED: dict[Callable[[str], Iterator[str]], str] = {
    weak_randomness: """import numpy.random as chance
from random import gauss
from numpy import random
from numpy.random._generator import default_rng
np.random.laplace()""",
    other_sources: """import secrets
from os import urandom
os.getrandom(4)
from uuid import uuid4
open("/dev/urandom")""",
    unseeded: """import random
np.random.default_rng()
np.random.normal(3)""",
}


@pytest.mark.parametrize("search", PLANTED)
def test_every_way_to_other_randomness_is_seen(search: Callable[[str], Iterator[str]]) -> None:
    assert [line for line in PLANTED[search].splitlines() if not [*search(line)]] == []


def test_no_message_on_the_wire_names_a_person_a_device_or_a_time() -> None:
    """Planted bug: a session, a device id or a clock in the protocol."""
    protos = sorted((ROOT / "proto").rglob("retrieval.proto"))  # analysts' tokens are another's
    text = "".join(proto.read_text() for proto in protos)
    fields = re.findall(r"^\s*(?:repeated )?\w+ (\w+) = \d+;", text, re.MULTILINE)
    telling = "account client clock cookie device id person session time timestamp token user uuid"
    assert [name for name in fields if {*telling.split()} & {*name.split("_")}] == []
    assert "values" in fields

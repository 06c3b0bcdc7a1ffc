"""Models are data: nothing of ours can run code that a file holds."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import askew
import askew_server

EXECUTING_MODULES = {"pickle", "cPickle", "_pickle", "dill", "joblib", "marshal", "shelve"}
EXECUTING_CALLS = {"eval", "exec", "compile", "__import__"}
LOADING_CALLS = {"np.load", "numpy.load", "np.save", "np.savez", "np.fromfile"}
SOURCES = sorted(
    path
    for package in (askew, askew_server)
    for root in package.__path__
    for path in Path(root).rglob("*.py")
    if "_pb2" not in path.name
)


def executed(tree: ast.AST) -> set[str]:
    """What a module names that could run code out of a file."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found |= {each.name.partition(".")[0] for each in names} & EXECUTING_MODULES
            case ast.ImportFrom(module=str(module)):
                found |= {module.partition(".")[0]} & EXECUTING_MODULES
            case ast.Name(id=name):
                found |= {name} & EXECUTING_CALLS
            case ast.Call(func=ast.Attribute() as function, keywords=keywords):
                plain = any(ast.unparse(each) == "allow_pickle=False" for each in keywords)
                found |= set() if plain else {ast.unparse(function)} & LOADING_CALLS
            case ast.keyword(arg="allow_pickle", value=value) if ast.unparse(value) != "False":
                found.add("allow_pickle")
    return found


def test_nothing_of_ours_can_execute_a_file() -> None:
    found = {path: executed(ast.parse(path.read_text(encoding="utf-8"))) for path in SOURCES}
    assert {path: names for path, names in found.items() if names} == {}
    assert len(SOURCES) > 100


PLANTED = """import joblib.numpy_pickle as quick
from marshal import loads
run = exec
np.load(path)
np.load(path, allow_pickle=True)
np.loadtxt(path, allow_pickle=True)"""


@pytest.mark.parametrize("line", PLANTED.splitlines())
def test_the_search_finds_what_it_searches_for(line: str) -> None:
    assert executed(ast.parse(line))

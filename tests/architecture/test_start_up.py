"""What shows stored things starts without the libraries that compute and call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import pytest

from askew.dp.composition import PrivacyFilter
from askew.dp.privacy import ADD_OR_REMOVE_ONE, ApproximateDP, PureDP
from askew.dp.release import Release
from askew_server.cli.main import cli as server
from askew_server.ledger import Charge, ChargeRequest, Ledger

HEAVY = {"asyncio", "duckdb", "google", "grpc", "numpy", "rich", "scipy", "sklearn", "textual"}

# What follows its words: {data} is where a device keeps all, {ledger} an operator's ledger.
SHOW = {
    "askew budget": "--data {data}",
    "askew completion": "bash",
    "askew place list": "--data {data} --json",
    "askew profile list": "--data {data}",
    "askew-server ledger show": "--ledger {ledger}",
    "askew-server releases show": "{charge} --ledger {ledger}",
}


def python(code: str, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, **more)


def run(command: str, stdin: str = "") -> tuple[str, set[str]]:
    program, *arguments = command.split()
    module = {"askew": "askew_client", "askew-server": "askew_server"}[program]
    code = f"import sys\nfrom {module}.cli.start import main\ntry:\n    main()\n"
    code += "finally:\n    print(*sys.modules, file=sys.stderr)\n"
    done = python(code, *arguments, input=stdin)
    return done.stdout, set(done.stderr.split())


def heavy(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules} & HEAVY


# Of one program: what each help text loaded that the ones before it had not.
HELP = """
import json, sys, click
from every_command import every_command
from {package}.cli.main import cli

loaded, seen = {{}}, set()
cli.get_help(click.Context(cli))
loaded["the list of commands"] = sorted(sys.modules)
for words, command in every_command(cli):
    command.get_help(click.Context(command))
    loaded[" ".join(words)] = sorted(set(sys.modules) - seen)
    seen = set(sys.modules)
print(json.dumps(loaded))
"""


def loaded_for_help(package: str) -> dict[str, set[str]]:
    done = python(HELP.format(package=package), cwd=Path(__file__).parents[1])
    return {words: set(modules) for words, modules in json.loads(done.stdout).items()}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("stored")
    ratings, data = folder / "ratings.csv", folder / "data"
    ratings.write_text("title,rating\nAlien (1979),5\n")
    run(f"askew profile import {ratings} --data {data}")
    run(f"askew place add home --region DE --data {data}", "52.5, 13.4")
    path = folder / "ledger.sqlite"
    with Ledger(path, path.with_name("ledger.sqlite.mark")) as ledger:
        cap = PrivacyFilter(epsilon=Fraction(1))
        ledger.open_dataset("films", "1", cap, "one person", ADD_OR_REMOVE_ONE)
        loss = PureDP(Fraction(1), ADD_OR_REMOVE_ONE)
        wanted = ChargeRequest(dataset="films", version="1", key="k", digest=bytes(32), loss=loss)
        charge = ledger.charge(wanted)
        assert isinstance(charge, Charge)
        guarantee = ApproximateDP(loss.epsilon, Fraction(0), ADD_OR_REMOVE_ONE)
        items = ("Alien (1979)",)
        release = Release(charge.id, "films", "canonical", 1, items, True, False, guarantee, 10)
        ledger.fulfill(charge.id, release.to_bytes())
    return {"data": str(data), "ledger": str(path), "charge": str(charge.id)}


@pytest.mark.thin
@pytest.mark.parametrize("command", SHOW)
def test_what_is_stored_is_shown_without_the_heavy_libraries(
    stored: dict[str, str], command: str
) -> None:
    """Nor what draws a map or words an answer, 25 ms of a start. Planted bug: numpy at the top of a
    module that holds a title's key.
    """
    shown, loaded = run(f"{command} {SHOW[command].format(**stored)}")
    assert shown
    assert heavy(loaded) == set()
    if command == "askew budget":
        assert not loaded & {"askew_client.views.answers", "askew_client.views.place_map"}


@pytest.mark.parametrize("package", ["askew_client", "askew_server"])
def test_help_is_shown_without_the_heavy_libraries(package: str) -> None:
    """Planted bugs: numpy at the top of a command's module; a type from where a model is made."""
    loaded = loaded_for_help(package)
    assert len(loaded) > 20
    assert {words: found for words, each in loaded.items() if (found := heavy(each))} == {}


def test_the_list_of_commands_imports_none_of_them() -> None:
    """Planted bug: click's own list, which asks each command what it does."""
    listed = loaded_for_help("askew_server")["the list of commands"]
    rooms = {name for name in listed if name.startswith("askew_server.")}
    assert rooms == {f"askew_server.cli{rest}" for rest in ("", ".main")}


def test_the_list_says_of_a_command_what_it_says_of_itself() -> None:
    settings = {**server.context_settings, "max_content_width": 200}
    context = click.Context(server, terminal_width=200, **settings)  # click keeps its help option
    listed = server.get_help(context).partition("Commands:")[2].splitlines()
    said = dict(line.split(maxsplit=1) for line in listed if line)
    for name in server.list_commands(context):
        command = server.get_command(context, name)
        assert command is not None
        text = "" if command.hidden else said.pop(name)
        assert " ".join((command.help or "").split()).startswith(text)
        assert command.hidden or text.endswith(".")
    assert said == {}


START = """
import atexit, gc, os, sys
atexit.register(lambda: print(gc.get_freeze_count() > 0, os.environ["OPENBLAS_THREAD_TIMEOUT"]))
from askew_client.cli.start import main
sys.argv = ["askew", "--version"]
main()
"""


@pytest.mark.parametrize(("chosen", "kept"), [({}, "4"), ({"OPENBLAS_THREAD_TIMEOUT": "9"}, "9")])
def test_a_short_process_spares_the_processor(chosen: dict[str, str], kept: str) -> None:
    """Planted bugs: no `gc.freeze` at the end; what the environment says is overwritten."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS")}
    done = python(START, env=environment | chosen)
    assert done.stdout.splitlines()[-1] == f"True {kept}"

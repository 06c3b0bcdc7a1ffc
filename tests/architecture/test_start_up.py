"""What shows stored things starts without the libraries that compute and call."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import click
import pytest
from every_command import every_command

from askew.odometer import PrivacyBudget
from askew.privacy import ADD_OR_REMOVE_ONE, ApproximateDP, PureDP
from askew.release import Release
from askew_client.cli.main import cli as device
from askew_server.cli.main import cli as server
from askew_server.ledger import Charge, ChargeRequest, Ledger

PROGRAMS = {"askew": device, "askew-server": server}
HEAVY = {"asyncio", "duckdb", "google", "grpc", "numpy", "rich", "scipy", "sklearn", "textual"}

# What follows its words: {data} is where a device keeps all, {ledger} an operator's ledger.
SHOW = {
    "askew budget": "--data {data}",
    "askew completion": "bash",
    "askew place list": "--data {data} --json",
    "askew profile export": "--data {data}",
    "askew profile list": "--data {data}",
    "askew-server ledger show": "--ledger {ledger}",
    "askew-server ledger verify": "--ledger {ledger}",
    "askew-server releases list": "--ledger {ledger}",
    "askew-server releases show": "{charge} --ledger {ledger}",
}
# Ask somebody, compute, or write: what they load is their own matter.
OTHERS = {
    *(f"askew {word}" for word in ("ask", "catalog", "demo", "doctor", "near", "refresh", "tui")),
    *(f"askew place {word}" for word in ("add", "export", "forget", "import", "move")),
    *(f"askew profile {word}" for word in ("add", "import", "remove", "undo", "wipe")),
    *(f"askew profile {word}" for word in ("decrypt", "encrypt")),
    *(f"askew-server analyst {word}" for word in ("budget", "top-k")),
    *(f"askew-server ledger {word}" for word in ("grant", "open", "revoke", "unfreeze")),
    *(f"askew-server token {word}" for word in ("key", "mint", "revoke")),
    *("askew-server certs", "askew-server check", "askew-server collect", "askew-server evaluate"),
    *("askew-server explain", "askew-server import", "askew-server publish"),
    *("askew-server rehearse", "askew-server release", "askew-server serve"),
    *("askew-server serve-releases", "askew-server train", "askew-server update"),
    "askew-server update-live",
}


def run(command: str, stdin: str = "") -> tuple[str, set[str]]:
    """What a command printed, and the top-level modules that it loaded."""
    program, *arguments = command.split()
    module = {"askew": "askew_client", "askew-server": "askew_server"}[program]
    code = f"import sys\nfrom {module}.cli.main import main\ntry:\n    main()\n"
    code += "finally:\n    print(*sys.modules, file=sys.stderr)\n"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, {name.partition(".")[0] for name in done.stderr.split()}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A rated title and a place on a device, a release in a ledger."""
    folder = tmp_path_factory.mktemp("stored")
    ratings, data = folder / "ratings.csv", folder / "data"
    ratings.write_text("title,rating\nAlien (1979),5\n")
    run(f"askew profile import {ratings} --data {data}")
    run(f"askew place add home --region DE --data {data}", "52.5, 13.4")
    path = folder / "ledger.sqlite"
    with Ledger(path, path.with_name("ledger.sqlite.anchor")) as ledger:
        cap = PrivacyBudget(epsilon=Fraction(1))
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


def test_every_command_is_of_one_kind_or_the_other() -> None:
    """A new one has to be put here."""
    words = {
        " ".join(each)
        for name, program in PROGRAMS.items()
        for each, command in every_command(program, name)
        if not isinstance(command, click.Group)
    }
    assert words == {*SHOW, *OTHERS}
    assert not {*SHOW} & OTHERS


@pytest.mark.parametrize("command", SHOW)
def test_what_is_stored_is_shown_without_the_heavy_libraries(
    stored: dict[str, str], command: str
) -> None:
    """Planted bug: numpy at the top of a module that holds a title's key."""
    shown, loaded = run(f"{command} {SHOW[command].format(**stored)}")
    assert shown
    assert loaded & HEAVY == set()

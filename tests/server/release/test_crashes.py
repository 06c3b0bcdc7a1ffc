"""Killed at any point: never two releases for one charge, never a release without its charge.

A crash may lose budget. It may not lose a spend, and nothing that was shown may differ from what is
stored, whoever asks again. `ledger_contract` has disks that are full.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from server.ledger.scenes import releases_of
from server.release import doomed_release

from askew.dp.composition import PrivacyFilter
from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.dp.release import PRIVACY_UNIT, release_from_bytes
from askew.errors import ChargePending
from askew_server.ledger import Ledger

PATIENCE = 1200  # seconds; only a hang waits for it
CHARGE = [
    *("before BEGIN IMMEDIATE", "after BEGIN IMMEDIATE"),
    *("before draw", "after draw"),  # of the act's id
    *("before INSERT INTO acts", "after INSERT INTO acts"),
    *("before INSERT INTO totals", "after INSERT INTO totals"),
    *("before INSERT INTO charges", "after INSERT INTO charges"),
    "before COMMIT",
]
FULFILL = [
    *("before BEGIN IMMEDIATE", "after BEGIN IMMEDIATE"),
    *("before draw", "after draw"),  # of the act's id
    *("before INSERT INTO acts", "after INSERT INTO acts"),
    *("before INSERT INTO fulfilments", "after INSERT INTO fulfilments"),
    "before COMMIT",
]
COMMITTED = ["after COMMIT", "before mark", "after mark"]
UNCHARGED = ["before charge", *(f"charge: {point}" for point in CHARGE)]
CHARGED = [
    *(f"charge: {point}" for point in COMMITTED),
    *("after charge", "before count", "before draw", "after draw", "after count"),
    *("before select", "after select", "before fulfill"),
    *(f"fulfill: {point}" for point in FULFILL),
]
RELEASED = [*(f"fulfill: {point}" for point in COMMITTED), "after fulfill"]
POINTS = [*UNCHARGED, *CHARGED, *RELEASED]


def script(folder: Path, *arguments: object) -> list[str]:
    command = [sys.executable, doomed_release.__file__, *map(str, (folder, *arguments))]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def make_folder(folder: Path) -> Path:
    """A log of 200 people, the catalog of its films, and a budget."""
    folder.mkdir()
    rows = (f"{unit},film {(unit * unit + item) % 7}\n" for unit in range(200) for item in range(3))
    (folder / "log.csv").write_text("unit,item\n" + "".join(rows))
    (folder / "films.csv").write_text("item\n" + "".join(f"film {item}\n" for item in range(7)))
    with Ledger(*ledger_of(folder)) as book:
        cap = PrivacyFilter(epsilon=Fraction(1000))
        book.open_dataset("films", "1", cap, PRIVACY_UNIT, ADD_OR_REMOVE_ONE)
    # Made before the first charge, and so before any point at which a release dies here.
    doomed_release.release(folder, "the first")
    (folder / "shown").unlink()
    return folder


def ledger_of(folder: Path) -> tuple[Path, Path]:
    return folder / "ledger.sqlite", folder / "ledger.sqlite.mark"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("crashes") / "template")


@pytest.fixture(scope="module")
def wrecks(template: Path) -> Path:
    """A folder for each point, in which a release died there."""
    folder = template.parent / "wrecks"
    for number in range(len(POINTS) + 1):  # in the last, one that does not die
        shutil.copytree(template, folder / str(number))
    assert script(folder, "at", *POINTS) == ["-9"] * len(POINTS)
    return folder


def each_of(points: list[str]) -> list[Any]:
    """Those within a transaction are alike, and of the audit."""
    within = pytest.mark.audit
    return [pytest.param(each, marks=within) if " INSERT " in each else each for each in points]


def assert_sound(folder: Path) -> tuple[int, int]:
    """Check the invariants; return the number of charges and of releases."""
    with Ledger(*ledger_of(folder)) as book:
        charges, releases = book.charges(), releases_of(book)
        spent = book.dataset("films").spent.epsilon
    assert spent == len(charges) * doomed_release.EPSILON
    paid = {charge.id for charge in charges}
    released = [release_from_bytes(each.payload).charge for each in releases]
    assert len(released) == len(set(released))
    assert set(released) <= paid
    stored = {each.payload for each in releases}
    path = folder / "shown"
    shown = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    assert set(shown) <= stored
    return len(charges), len(releases)


def test_every_point_of_a_release_is_in_the_list(template: Path) -> None:
    """A new step is a new point at which a release may die."""
    folder = template.parent / "points"
    shutil.copytree(template, folder)
    assert script(folder, "points") == POINTS


@pytest.mark.slow
@pytest.mark.parametrize("point", each_of(UNCHARGED))
def test_a_crash_before_the_charge_costs_nothing_and_the_request_runs_again(
    wrecks: Path, point: str
) -> None:
    folder = wrecks / str(POINTS.index(point))
    assert assert_sound(folder) == (1, 1)
    doomed_release.release(folder, "key")
    assert assert_sound(folder) == (2, 2)


@pytest.mark.thin
@pytest.mark.parametrize("point", each_of(CHARGED))
def test_a_crash_after_the_charge_loses_it_and_nothing_is_drawn_for_it_again(
    wrecks: Path, point: str
) -> None:
    """It is refused until the operator asks again."""
    folder = wrecks / str(POINTS.index(point))
    assert assert_sound(folder) == (2, 1)
    with pytest.raises(ChargePending):
        doomed_release.release(folder, "key")
    assert assert_sound(folder) == (2, 1)
    doomed_release.release(folder, "key", again=True)
    assert assert_sound(folder) == (3, 2)
    doomed_release.release(folder, "key")
    assert assert_sound(folder) == (3, 2)


@pytest.mark.parametrize("point", RELEASED)
def test_a_crash_after_the_release_keeps_it_for_whoever_asks_again(
    wrecks: Path, point: str
) -> None:
    folder = wrecks / str(POINTS.index(point))
    assert assert_sound(folder) == (2, 2)
    doomed_release.release(folder, "key")
    assert assert_sound(folder) == (2, 2)
    assert (folder / "shown").read_bytes().count(b"\n") == 1

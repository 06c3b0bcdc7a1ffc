"""Every commit of the device's stores is synced to the disk before anything goes on."""

from __future__ import annotations

import os
import sqlite3
import stat
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from askew.dp.privacy import SignalCharge
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew_client.profile.store import ProfileService, ProfileStore
from askew_client.settings.config import ConfigFile
from askew_client.settings.settings import Caps
from askew_client.signals.store import SignalStore

FULL = 2  # of PRAGMA synchronous; NORMAL, 1, does not sync a commit to the write-ahead log
SIGNAL = Signal("0123456789abcdef" * 2, LatticeLaplace(11, 1024), (1, 2))


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """Of every commit of a production connection: how it syncs, and whether anything changed."""
    seen: list[tuple[int, bool]] = []

    class Watched(sqlite3.Connection):
        begun = 0

        def execute(self, sql: str, *rest: object) -> sqlite3.Cursor:
            if sql.startswith("BEGIN"):
                self.begun = self.total_changes
            if sql == "COMMIT":
                (level,) = super().execute("PRAGMA synchronous").fetchone()
                seen.append((level, self.total_changes > self.begun))
            return super().execute(sql, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Watched))
    return seen


def test_a_charge_is_on_the_disk_before_its_signal_is_sent(
    tmp_path: Path, commits: list[tuple[int, bool]]
) -> None:
    """Planted bug: `synchronous = NORMAL`, after which a power cut gives the budget back."""
    store = SignalStore(tmp_path / "signals.sqlite", Caps(Fraction(10)))
    store.remember(SIGNAL.space_version, "2026-11", SignalCharge(Fraction(2)), lambda: SIGNAL)
    store.accept("2026-11")
    assert [level for level, changed in commits if changed] == [FULL, FULL]
    assert {level for level, _ in commits} == {FULL}


def test_an_edit_of_the_profile_is_on_the_disk(
    tmp_path: Path, commits: list[tuple[int, bool]]
) -> None:
    store = ProfileStore(tmp_path / "profile.sqlite")
    ProfileService(store).rate("Alien (1979)", 4.5)
    store.wipe()
    assert [level for level, changed in commits if changed] == [FULL, FULL]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is synced and renamed, in order."""
    seen: list[str] = []
    sync, rename = os.fsync, os.replace

    def synced(handle: int) -> None:
        kind = "directory" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file"
        seen.append(f"sync the {kind}")
        sync(handle)

    def renamed(source: str | Path, target: str | Path) -> None:
        seen.append("rename")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    return seen


@pytest.mark.skipif(os.name != "posix", reason="a directory cannot be opened there")
def test_a_mark_and_a_setting_are_synced_before_and_after_they_are_renamed(
    tmp_path: Path, steps: list[str]
) -> None:
    """Planted bugs: no sync of the file, which a power cut then leaves empty under its new name; no
    sync of the directory, which then still has the old one.
    """
    once = ["sync the directory", "sync the file", "rename", "sync the directory"]
    ConfigFile(tmp_path / "config.toml").keep({"k": 5})
    assert steps == once
    store = SignalStore(tmp_path / "signals.sqlite", Caps(Fraction(10)))
    store.remember(SIGNAL.space_version, "2026-11", SignalCharge(Fraction(2)), lambda: SIGNAL)
    made = ["sync the directory"]  # the name of the new one that the mark is in
    assert steps[len(once) :] == [*made, *once, *once]  # a new mark, and that of the charge

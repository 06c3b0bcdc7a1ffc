"""A private directory is there after a loss of power, also where its parent cannot be synced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from askew_client.storage.private_files import make_directory


class Disk:
    """The system's `open` and `fsync`. synced: the directories. unreadable: may not be opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, unreadable: Path | None = None) -> None:
        self.synced: list[Path] = []
        self._names: dict[int, Path] = {}
        self._unreadable, self._open, self._fsync = unreadable, os.open, os.fsync
        monkeypatch.setattr(os, "open", self.open)
        monkeypatch.setattr(os, "fsync", self.fsync)

    def open(self, path: Path, flags: int, mode: int = 0o777) -> int:
        if path == self._unreadable:
            raise PermissionError(13, "Permission denied", str(path))
        handle = self._open(path, flags, mode)
        self._names[handle] = path
        return handle

    def fsync(self, handle: int) -> None:
        self._fsync(handle)
        self.synced.append(self._names[handle])


def test_each_new_directory_is_synced_in_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: only the last one is."""
    disk = Disk(monkeypatch)
    for _ in range(2):
        make_directory(tmp_path / "a" / "b")
    for path in (tmp_path / "a", tmp_path / "a" / "b"):
        assert path.stat().st_mode & 0o777 == 0o700
    assert disk.synced == [tmp_path, tmp_path / "a"]


def test_a_parent_that_may_be_written_and_not_read_gets_a_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a spool of mode 0733; what is below it is synced all the same. Planted bug: the refusal is
    raised.
    """
    disk = Disk(monkeypatch, unreadable=tmp_path)
    make_directory(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    assert disk.synced == [tmp_path / "a"]


def test_a_disk_that_cannot_sync_is_no_refusal_to_pass_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: every failure of a sync is passed over."""

    def broken(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="Input/output"):
        make_directory(tmp_path / "a")

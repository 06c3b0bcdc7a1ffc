"""A ledger or an anchor that another account may write proves nothing, and is refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from server.ledger.scenes import charged, files, new_ledger, open_ledger, request

from askew.errors import LedgerError
from askew_server.ledger import Ledger

NAMES = ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "anchor"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A ledger with a charge, which a process has open."""
    with new_ledger(tmp_path) as ledger:
        charged(ledger, request())
        yield tmp_path


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o777])
def test_a_file_that_others_may_write_is_refused(folder: Path, name: str, mode: int) -> None:
    """Planted bug: a look at one of the files only, or at one of the two bits."""
    (folder / name).chmod(mode)
    with pytest.raises(LedgerError, match=r"others may write it.*\(chmod go-w\)") as refused:
        open_ledger(folder)
    what = "anchor" if name == "anchor" else "ledger"
    assert str(refused.value).startswith(f"the {what} {folder / name} cannot be used")
    assert (folder / name).stat().st_mode & 0o777 == mode
    (folder / name).chmod(mode & ~0o022)
    with open_ledger(folder) as ledger:
        charged(ledger, request("tuesday"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_account_is_refused(folder: Path, name: str) -> None:
    """Its owner may write it, whatever its mode says today. Planted bug: a look at the mode."""
    os.chown(folder / name, 65534, 65534)
    with pytest.raises(LedgerError, match="must be yours"):
        open_ledger(folder)


def test_an_anchor_that_others_may_write_is_not_made(tmp_path: Path) -> None:
    """Whatever the account's umask is."""
    before = os.umask(0)
    try:
        with Ledger(*files(tmp_path)):
            assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    finally:
        os.umask(before)

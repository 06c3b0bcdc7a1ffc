"""Commands whose standard streams are closed, as a daemon or a cron job may start them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ALL = "<&- >&- 2>&-"


def ran(folder: Path, program: str, streams: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", f'exec "$0" {program} {streams}', sys.executable],
        cwd=folder,
        env={**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", ALL])
@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("-m askew_client budget", 0),
        ("-m askew_client near cafes --place nowhere --server 127.0.0.1:1", 1),
        ("-m askew_server explain --catalog-size 500", 0),
        ("-m askew_server explain -k none", 2),
    ],
)
@pytest.mark.thin
def test_a_command_ends_as_it_does_with_them(
    tmp_path: Path, program: str, code: int, streams: str
) -> None:
    """And without a traceback. Planted bug: None in the place of a stream."""
    made = ran(tmp_path, program, streams)
    assert "Traceback" not in made.stderr
    assert made.returncode == code


def test_no_file_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    """Or a library's words would be written into a ledger."""
    (tmp_path / "opens.py").write_text(
        "from askew.extras import open_standard_streams\n"
        "open_standard_streams()\n"
        "print('not in the file', flush=True)\n"
        "file = open('ledger', 'w')\n"
        "print('nor this', flush=True)\n"
        "file.write(str(file.fileno()))\n"
    )
    ran(tmp_path, "opens.py", ALL)
    number = (tmp_path / "ledger").read_text()
    assert int(number) > 2

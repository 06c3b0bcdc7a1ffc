"""The reader of public releases runs under an account that can read the ledger and not write it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from server.ledger.scenes import ENVIRONMENT
from server.release.conftest import CAP

from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.dp.release import PRIVACY_UNIT
from askew.noise.randomness import SystemBits
from askew_server.counting import CountingTask, TopCounts
from askew_server.ledger import Ledger
from askew_server.release.job import ReleaseJob
from askew_server.release.plan import ReleasePlan

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can act as another account")
NOBODY = 65534  # an account without rights, whether or not it has a name here
READER = f"""
import json, os, sqlite3, sys
from pathlib import Path
from askew.errors import LedgerError
from askew_server.ledger import Ledger
from askew_server.published.reader import ReleaseReader

path, mark = map(Path, sys.argv[1:3])
os.setgroups([*map(int, sys.argv[3:])])
os.setgid({NOBODY})
os.setuid({NOBODY})
reader = ReleaseReader(path)
summaries, _ = reader.page("", 0, 100)
said = [reader.document(each.charge).decode() for each in summaries]
try:
    Ledger(path, mark).close()
    said.append("opened")
except LedgerError as error:
    said.append(str(error))
for name in (path, mark, path.with_name(path.name + "-wal")):
    try:
        os.close(os.open(name, os.O_WRONLY))
        said.append("written")
    except (PermissionError, FileNotFoundError):
        continue
print(json.dumps(said))
"""
Publish = Callable[[Ledger], str]


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder where any account can go, and only its own can write."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def publish(
    plan_of: Callable[..., ReleasePlan], count: Callable[[CountingTask], TopCounts]
) -> Publish:
    """One more public release, as it is stored."""

    def publish(book: Ledger) -> str:
        plan = plan_of(k=1 + len(book.charges()))
        job = ReleaseJob(book, count, SystemBits())
        return job.publish(plan, plan.charge_request()).payload.decode()

    return publish


def opened(place: Path) -> Ledger:
    """The operator's ledger, which the account of the reader may read."""
    book = Ledger(place / "ledger.sqlite", place / "mark")
    book.open_dataset("films", "1", CAP, PRIVACY_UNIT, ADD_OR_REMOVE_ONE)
    return book


def read_as_nobody(place: Path, *groups: int) -> list[str]:
    """The releases that the other account gets, in some groups; that it cannot write is checked."""
    done = subprocess.run(
        [sys.executable, "-c", READER, place / "ledger.sqlite", place / "mark", *map(str, groups)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *said, refusal = json.loads(done.stdout)
    assert "cannot be used" in refusal  # and after it, nothing was written
    return list(map(str, said))


def test_another_account_reads_beside_an_open_ledger(place: Path, publish: Publish) -> None:
    """Planted bug: opening the ledger takes the reader's right away."""
    opened(place).close()
    (place / "ledger.sqlite").chmod(0o644)
    with opened(place) as book:
        payloads = [publish(book), publish(book)]
        assert read_as_nobody(place) == payloads
        payloads.append(publish(book))
        assert read_as_nobody(place) == payloads


OPERATOR, READERS = 61001, 61002  # an account with a group of its own, and the group of readers
OPEN = f"""
import os, sys
from pathlib import Path
from server.release.conftest import CAP
from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew_server.ledger import Ledger

os.setgroups([])
os.setgid({OPERATOR})
os.setuid({OPERATOR})
with Ledger(*map(Path, sys.argv[1:])) as book:
    book.open_dataset("books", "1", CAP, "a person", ADD_OR_REMOVE_ONE)
    print("open", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.slow
def test_a_group_of_readers_reads_beside_an_open_ledger(place: Path, publish: Publish) -> None:
    """As docs/ledger.md sets it up: a journal is of the folder's group, in a folder that says so.

    Planted bug: a folder of the same group without its set-group-id bit.
    """
    with opened(place) as book:
        payloads = [publish(book)]
    for path in (place, *place.iterdir()):
        os.chown(path, OPERATOR, READERS)
    place.chmod(0o2750)
    (place / "ledger.sqlite").chmod(0o640)
    paths = map(str, (place / "ledger.sqlite", place / "mark"))
    with subprocess.Popen(
        [sys.executable, "-c", OPEN, *paths],
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as operator:
        assert operator.stdout is not None
        assert operator.stdout.readline() == "open\n"
        assert (place / "ledger.sqlite-wal").stat().st_size > 0
        assert read_as_nobody(place, READERS) == payloads
        operator.communicate("close\n", timeout=100)
    assert operator.returncode == 0
    assert read_as_nobody(place, READERS) == payloads


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_who_may_read_the_ledger_stays_as_the_operator_set_it(place: Path, mode: int) -> None:
    """Its journal, too."""
    opened(place).close()
    path = place / "ledger.sqlite"
    path.chmod(mode)
    with opened(place):
        found = {each.name: stat.S_IMODE(each.stat().st_mode) for each in place.iterdir()}
    assert found == {**dict.fromkeys(found, mode), "mark": 0o600}

"""What is forgotten is gone from the file, and nobody says so while it is not."""

from __future__ import annotations

import datetime
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from client.conftest import Askew

from askew.dp.privacy import SignalCharge
from askew.errors import ProfileError
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew_client.profile.document import PastAnswer
from askew_client.profile.store import ProfileService, ProfileStore
from askew_client.settings.config import places
from askew_client.settings.settings import Caps
from askew_client.signals.store import SignalStore
from askew_client.storage import private_files
from askew_client.storage.private_files import PrivateDatabase

CANARY = "Xanadu Canary (1980)"
OTHER = "Moon (2009)"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_files, "_PATIENCE", 0.05)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "profile.sqlite"


@pytest.fixture
def store(path: Path) -> ProfileStore:
    store = ProfileStore(path)
    desk = ProfileService(store)
    desk.edit({CANARY: (4.5,), OTHER: (None,)})
    return store


def on_disk(path: Path) -> bytes:
    return b"".join(each.read_bytes() for each in sorted(path.parent.iterdir()))


@pytest.mark.parametrize("act", ["wipe", "forget"])
def test_pages_are_overwritten_before_the_file_shrinks(
    path: Path, store: ProfileStore, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    """What a file loses at its end keeps its bytes on the disk. Planted bug: no checkpoint before
    the VACUUM, after which the freed pages are cut off as they were; a copy in a temporary file.
    """
    desk = ProfileService(store)
    desk.edit({f"Title {n}": (3.0,) for n in range(2000)})
    before, seen, stores = path.stat().st_size, [], []

    class Watched(sqlite3.Connection):
        def execute(self, sql: str, *rest: object) -> sqlite3.Cursor:
            if sql == "VACUUM":
                seen.append(path.read_bytes())
                stores.extend(super().execute("PRAGMA temp_store").fetchone())
            return super().execute(sql, *rest)  # type: ignore[arg-type]

    acts: dict[str, Callable[[], object]] = {
        "wipe": store.wipe,
        "forget": lambda: desk.forget([CANARY, *(f"Title {n}" for n in range(2000))]),
    }
    with closing(sqlite3.connect(path)) as idle:
        idle.execute("SELECT 1 FROM profile").fetchone()  # a last one to close would write it all
        monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Watched))
        acts[act]()
    assert [len(each) >= before for each in seen] == [True]
    assert stores == [2]  # in memory: the copy that VACUUM makes is no file
    assert not [word for word in (b"Title 7", CANARY.encode()) if word in seen[0]]


def test_past_answers_are_nowhere_in_the_file(path: Path) -> None:
    """While another program has it open, and so keeps its log. Planted bug: they are in the log."""
    store = ProfileStore(path)
    past = PastAnswer(datetime.date(2026, 11, 21), "2026-11", (CANARY,), CANARY)
    store.change(lambda document: document.edited({OTHER: (None,)}))
    with closing(sqlite3.connect(path)) as idle:
        idle.execute("SELECT 1 FROM profile").fetchone()
        store.change(lambda document: document.answered(past))
        assert CANARY.encode() in on_disk(path)
        ProfileService(store).forget_history()
        assert CANARY.encode() not in on_disk(path)


READER = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("BEGIN")
database.execute("SELECT body FROM profile").fetchone()
print("reading", flush=True)
sys.stdin.read()
"""


@contextmanager
def another_program(path: Path) -> Iterator[None]:
    """A process that has begun to read the file, and does not end."""
    command = [sys.executable, "-c", READER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"reading\n"
        yield
        process.stdin.close()


ACTS: dict[str, Callable[[ProfileStore], object]] = {
    "wipe": lambda store: store.wipe(),
    "forget": lambda store: ProfileService(store).forget([CANARY]),
}


@pytest.mark.parametrize("log", ["an empty log", "a log"])
@pytest.mark.parametrize("act", ACTS)
def test_nothing_changes_while_another_program_reads(
    path: Path, store: ProfileStore, act: str, log: str
) -> None:
    """A reader of the file, and one of its log. Planted bug: the answer of the checkpoint is not
    looked at, and "the profile is gone" is said of a file that holds the plain text.
    """
    with closing(sqlite3.connect(path)) as idle:
        if log == "a log":
            idle.execute("SELECT body FROM profile").fetchone()  # a last one would empty it
            ProfileService(store).rate(CANARY, 5.0)
        with another_program(path):
            with pytest.raises(ProfileError, match="another program is reading the profile"):
                ACTS[act](store)
            assert CANARY in store.read().ratings
    ACTS[act](store)
    assert CANARY.encode() not in on_disk(path)


@pytest.mark.parametrize("act", ACTS)
def test_a_program_that_begins_to_read_in_between_is_noticed(
    path: Path, store: ProfileStore, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    """It was changed, and it is not gone: the error says so, and trying again erases it.

    Planted bug: a second wipe that finds an empty profile, and removes it as it is.
    """
    check = PrivateDatabase.check_unread
    readers = [another_program(path)]

    def and_then_one_reads(file: PrivateDatabase) -> None:
        check(file)
        readers[0].__enter__()

    with monkeypatch.context() as patch:
        patch.setattr(PrivateDatabase, "check_unread", and_then_one_reads)
        with pytest.raises(ProfileError, match="end that program and try again"):
            ACTS[act](store)
    assert CANARY.encode() in on_disk(path)
    with pytest.raises(ProfileError):
        ACTS[act](store)
    assert path.exists()
    other_name = path.parent.parent / "other-name"
    other_name.hardlink_to(path)
    readers[0].__exit__(None, None, None)
    ACTS[act](store)
    assert CANARY.encode() not in on_disk(path) + other_name.read_bytes()


def test_a_title_that_is_removed_for_good_is_nowhere_in_the_file(askew: Askew) -> None:
    """Nor in the edit that removed it before."""
    askew("profile", "add", stdin=b"Alien (1979),4.5\nMoon (2009)\n")
    askew("profile", "remove", stdin=b"Alien (1979)\n")
    removed = askew("profile", "remove", "--for-good", stdin=b"alien (1979)\nNever Rated\n")
    assert (removed.code, removed.out) == (0, "")
    assert removed.err.startswith("1 title and 0 past answers forgotten for good")
    assert b"Alien" not in on_disk(places(None).profile)
    assert askew("profile", "list").out == " like  Moon (2009)\n"
    askew("profile", "undo")
    assert askew("profile", "list").out == ""


def test_past_answers_that_name_a_forgotten_title_are_forgotten_too(
    path: Path, store: ProfileStore
) -> None:
    """Found by any spelling, in the slate and as the pick. Planted bug: the rating alone."""
    day = datetime.date(2026, 11, 21)
    slates = [("2026-09", (OTHER, "A")), ("2026-10", (CANARY, "A")), ("2026-11", ("A", CANARY))]
    for month, labels in slates:
        past = PastAnswer(day, month, labels, labels[0])
        store.change(lambda document, past=past: document.answered(past))  # type: ignore[misc]
    desk = ProfileService(store)
    assert desk.forget([f" {CANARY.upper()}  "]) == (1, 2)
    assert [each.month for each in desk.history()] == ["2026-09"]
    assert [each.label for each in desk.ratings()] == [OTHER]
    assert CANARY.encode() not in on_disk(path)


@pytest.mark.parametrize("apart", [True, False])
def test_a_wipe_leaves_the_ledger_and_its_mark_as_they_are(
    askew: Askew, tmp_path: Path, apart: bool
) -> None:
    """Planted bugs: a wipe that deletes the ledger, its mark or both, and so what was spent; with
    one directory for all, and with the platform's two.
    """
    directory = None if apart else tmp_path / "one"
    flags = [] if directory is None else ["--data", directory]
    where = places(directory)
    askew("profile", "add", *flags, stdin=b"Alien (1979),4.5\n")
    drawn = Signal("0123456789abcdef" * 2, LatticeLaplace(11, 1024), (1, 2))
    store = SignalStore(where.ledger, Caps(Fraction(10)), where.mark)
    store.remember(drawn.space_version, "2026-11", SignalCharge(Fraction(2)), lambda: drawn)
    before = (where.ledger.read_bytes(), where.mark.read_bytes())
    assert askew("profile", "wipe", *flags, stdin=b"y\n").code == 0
    assert not where.profile.exists()
    assert before == (where.ledger.read_bytes(), where.mark.read_bytes())

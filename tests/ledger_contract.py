"""What a ledger keeps with its mark, whatever happens to both: the contract of the two ledgers.

docs/proofs/mark.md has the cases. A role says how it asks, and gets these tests by a subclass. Run
as a program, this is a rival of `test_rivals...`: ledger_contract.py MODULE CLASS FOLDER NUMBER...
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sqlite3
import subprocess
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from fractions import Fraction
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar
from unittest.mock import Mock

import pytest
from mounts import unwritable
from traced import Act, Say, check_every_call, check_histories, traceable, watch

from askew.errors import AskewError, LedgerError, LedgerRefused

CAP = 10  # of charges of 1
FULL = 2  # of PRAGMA synchronous; NORMAL, 1, does not sync a commit to the write-ahead log
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
STEPS = [(when, what) for what in ("commit", "mark") for when in ("before", "after")]
DAMAGED = [
    *("", "{", "[]", "null", "[" * 100_000, "\xff", '{"sequence": 1}'),
    '{"sequence": 1, "id": "", "spent": {}}',
    *(
        f'{{"sequence": {sequence}, "id": "00112233445566778899aabbccddeeff", "spent": {spent}}}'
        for sequence, spent in (
            *((-1, "{}"), ("true", "{}"), (2**62, "{}")),
            *((1, '{"a": ["1/1"]}'), (1, '{"a": ["-1/1"]}')),
        )
    ),
]
Spoil = Callable[["LedgerContract", Path], None]
Step = tuple[str, str, int]


class Crash(BaseException):
    """The end of the process: nothing catches it, and what was not committed is gone."""


def silent(_: str) -> None:
    """Nobody listens."""


def drawn() -> int:
    """What a mechanism gives: no two are equal."""
    return secrets.randbelow(2**31 - 1)


class LedgerContract(ABC):
    """module: whose `replace_file` writes the mark. commits: of one question. crashes: how many in
    a row are played in every order.
    """

    module: ClassVar[ModuleType]
    commits: ClassVar[int]
    crashes: ClassVar[int]

    @abstractmethod
    def files(self, folder: Path) -> tuple[Path, Path]:
        """Where the ledger and its mark are."""

    @abstractmethod
    def make(self, folder: Path) -> None:
        """Make a ledger without a charge, or open it again."""

    @abstractmethod
    def ask(self, folder: Path, number: int, say: Say = silent) -> int:
        """Charge 1 for a question and draw for it, once; what is published, now and ever again.

        Says what may leave: "published NUMBER WORD", and more by its own ways.
        """

    @abstractmethod
    def published(self, folder: Path) -> dict[int, int]:
        """What was published for each question."""

    @abstractmethod
    def charges(self, folder: Path) -> int:
        """How many charges there are."""

    @abstractmethod
    def spent(self, folder: Path) -> Fraction:
        """What is spent in all."""

    @abstractmethod
    def refused(self, folder: Path) -> str | None:
        """Why nothing is spent, or None."""

    @abstractmethod
    def accept(self, folder: Path) -> None:
        """Go on with a ledger that differs from its mark."""

    @abstractmethod
    def check_words(self, folder: Path, words: list[str]) -> None:
        """Check what the role says beside what it publishes."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """A ledger with two charges."""
        folder = tmp_path / "folder"
        folder.mkdir()
        self.make(folder)
        self.ask(folder, 0)
        self.ask(folder, 1)
        return folder

    # Files that were put back, lost, damaged or carried elsewhere.
    def put_back(self, folder: Path) -> None:
        """The ledger as it was before its newest charge."""
        path, _ = self.files(folder)
        copy = path.read_bytes()
        self.ask(folder, 2)
        path.write_bytes(copy)

    def delete(self, folder: Path) -> None:
        """The newest charge is made, and the ledger deleted."""
        self.ask(folder, 2)
        self.files(folder)[0].unlink()

    def lose_the_mark(self, folder: Path) -> None:
        self.ask(folder, 2)
        self.files(folder)[1].unlink()

    def damage_the_mark(self, folder: Path) -> None:
        self.ask(folder, 2)
        self.files(folder)[1].write_bytes(b"{")

    def put_the_mark_back(self, folder: Path) -> None:
        """By more than one charge."""
        _, mark = self.files(folder)
        copy = mark.read_bytes()
        self.ask(folder, 2)
        self.ask(folder, 3)
        mark.write_bytes(copy)

    def fork(self, folder: Path) -> None:
        """Two copies of the folder go on, and one's ledger comes to the other."""
        other = folder.with_name("other")
        shutil.copytree(folder, other)
        self.ask(folder, 2)
        self.ask(other, 2)
        shutil.copy(self.files(other)[0], self.files(folder)[0])

    def take_a_foreign_mark(self, folder: Path) -> None:
        """One of another ledger."""
        self.ask(folder, 2)
        other = folder.with_name("other")
        other.mkdir()
        self.make(other)
        self.ask(other, 7)
        shutil.copy(self.files(other)[1], self.files(folder)[1])

    SPOILED: ClassVar[list[tuple[Spoil, str, int]]] = [
        (put_back, "older than its mark", 3),
        (delete, "older than its mark, or gone", 3),
        (lose_the_mark, "mark is missing", 3),
        (damage_the_mark, "mark cannot be read", 3),
        (put_the_mark_back, "name different last entries", 4),
        (fork, "name different last entries", 3),
        (take_a_foreign_mark, "name different last entries", 3),
    ]
    spoiled = pytest.mark.parametrize(
        ("spoil", "words", "spent"), SPOILED, ids=[each[0].__name__ for each in SPOILED]
    )

    @pytest.mark.parametrize("content", DAMAGED)
    def test_a_damaged_mark_stops_spending_and_is_not_written_over(
        self, folder: Path, content: str
    ) -> None:
        _, mark = self.files(folder)
        mark.write_bytes(content.encode("latin-1"))
        with pytest.raises(LedgerRefused, match="cannot be read"):
            self.ask(folder, 2)
        assert mark.read_bytes() == content.encode("latin-1")

    @spoiled
    def test_a_ledger_that_differs_from_its_mark_spends_nothing_and_says_why(
        self, folder: Path, spoil: Spoil, words: str, spent: int
    ) -> None:
        """Planted bugs: no look at the mark; an empty ledger is new, whatever its mark says; any
        ledger of the mark's length will do.
        """
        word = self.ask(folder, 1)
        spoil(self, folder)
        assert words in str(self.refused(folder))
        if spoil is not LedgerContract.delete:  # what was published costs nothing
            assert self.ask(folder, 1) == word
        before = {each: each.read_bytes() for each in self.files(folder) if each.exists()}
        for number in (4, 5):
            with pytest.raises(LedgerRefused, match=words):
                self.ask(folder, number)
        if spoil is not LedgerContract.delete:
            assert {each: each.read_bytes() for each in before} == before

    @spoiled
    def test_who_accepts_books_the_larger_losses_once_and_goes_on(
        self, folder: Path, spoil: Spoil, words: str, spent: int
    ) -> None:
        with suppress(LedgerError):  # there is nothing to book
            self.accept(folder)
        assert self.refused(folder) is None
        assert self.spent(folder) == 2
        spoil(self, folder)
        self.accept(folder)
        assert self.refused(folder) is None
        assert self.spent(folder) == spent
        self.make(folder)
        self.ask(folder, 4)
        assert self.spent(folder) == spent + 1
        path, _ = self.files(folder)  # the mark works as before
        copy = path.read_bytes()
        self.ask(folder, 5)
        path.write_bytes(copy)
        assert "older" in str(self.refused(folder))
        self.accept(folder)
        assert self.spent(folder) == spent + 2

    def test_a_mark_one_behind_is_caught_up(self, folder: Path) -> None:
        """As a crash between the two leaves it, and where a link leads. Planted bugs: a crash locks
        everybody out; a mark put in the place of the link, beside the ledger.
        """
        _, link = self.files(folder)
        mark = folder / "another disk"
        link.rename(mark)
        link.symlink_to(mark)
        with suppress(Crash), self.dying(("before", "mark", self.commits)):
            self.ask(folder, 2)
        behind = mark.read_bytes()
        assert self.refused(folder) is None
        word = self.ask(folder, 2)
        assert mark.read_bytes() != behind
        assert self.ask(folder, 2) == word
        assert self.spent(folder) == 3
        assert link.readlink() == mark

    def test_both_put_back_go_unseen_so_the_mark_belongs_elsewhere(self, folder: Path) -> None:
        before = {each: each.read_bytes() for each in self.files(folder)}
        self.ask(folder, 2)
        for path, content in before.items():
            path.write_bytes(content)
        assert self.refused(folder) is None
        assert self.spent(folder) == 2

    def test_the_mark_only_rises(self, folder: Path) -> None:
        """Planted bug: the sequence of a lost charge is given again."""
        _, mark = self.files(folder)
        seen = [json.loads(mark.read_bytes())["sequence"]]
        for spoil in (LedgerContract.put_back, LedgerContract.delete):
            spoil(self, folder)
            seen.append(json.loads(mark.read_bytes())["sequence"])
            self.accept(folder)
            seen.append(json.loads(mark.read_bytes())["sequence"])
            self.make(folder)
        assert seen == sorted(set(seen))

    # Crashes.
    @contextmanager
    def dying(
        self, step: Step | None, happen: Callable[[], object] | None = None
    ) -> Iterator[None]:
        """Something happens before or after the n-th commit or mark: by default, it dies there."""
        connect, replace, counted = sqlite3.connect, self.module.replace_file, Counter[str]()

        def reached(when: str, what: str) -> None:
            if step == (when, what, counted[what]):
                counted["done"] += 1
                if counted["done"] == 1:
                    (happen or die)()

        class Doomed(sqlite3.Connection):
            begun = 0

            def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
                if sql.startswith("BEGIN"):
                    self.begun = self.total_changes
                writes = sql == "COMMIT" and self.total_changes > self.begun
                if writes:
                    counted["commit"] += 1
                    reached("before", "commit")
                cursor = super().execute(sql, *rest)
                if writes:
                    reached("after", "commit")
                return cursor

        def writing(path: Path, content: Any) -> None:
            counted["mark"] += 1
            reached("before", "mark")
            replace(path, content)
            reached("after", "mark")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sqlite3, "connect", partial(connect, factory=Doomed))
            patch.setattr(self.module, "replace_file", writing)
            yield

    def steps(self) -> list[Step | None]:
        """Every moment at which a question may die, and none."""
        return [None, *((*step, n + 1) for n in range(self.commits) for step in STEPS)]

    def test_every_history_of_crashes_and_ledgers_put_back_is_judged_as_proved(
        self, folder: Path, tmp_path: Path
    ) -> None:
        """docs/proofs/mark.md: no crash stops spending, and what was published is in every ledger
        that may spend, whichever is put back. Planted bugs: a word that leaves before it is marked;
        a mark before its commit; one charge fewer will do.
        """
        for number, history in enumerate(product(self.steps(), repeat=self.crashes)):
            place = tmp_path / str(number)
            shutil.copytree(folder, place)
            path, _ = self.files(place)
            known, ledgers = self.published(place), {path.read_bytes()}
            for question, step in enumerate(history, 2):
                with suppress(Crash), self.dying(step):
                    known[question] = self.ask(place, question)
                assert self.refused(place) is None, history
                assert known.items() <= self.published(place).items(), history
                assert self.spent(place) == self.charges(place)
                ledgers.add(path.read_bytes())
            for older in ledgers:
                path.write_bytes(older)
                refused = self.refused(place) is not None
                assert refused or known.items() <= self.published(place).items(), history
            shutil.rmtree(place)

    def test_no_copy_of_a_moment_before_the_answer_may_spend(
        self, folder: Path, tmp_path: Path
    ) -> None:
        """Whichever copy comes back, once a word was published."""
        for number, step in enumerate(self.steps()[1:]):
            place, copy = tmp_path / str(number), tmp_path / f"copy {number}"
            shutil.copytree(folder, place)
            path, _ = self.files(place)
            with self.dying(step, partial(backed_up, path, copy)):
                word = self.ask(place, 2)
            shutil.copy(copy, path)
            refused = self.refused(place) is not None
            assert refused or self.published(place)[2] == word, step

    @pytest.mark.parametrize("spoil", [put_back, delete, lose_the_mark, damage_the_mark, fork])
    def test_what_was_lost_is_booked_once_whatever_crashes_while_it_is_accepted(
        self, folder: Path, tmp_path: Path, spoil: Spoil
    ) -> None:
        """Planted bug: a first acceptance that lowers what the next one knows."""
        spoil(self, folder)
        for number, step in enumerate(self.steps()[:5]):
            place = tmp_path / str(number)
            shutil.copytree(folder, place)
            with suppress(Crash), self.dying(step):
                self.accept(place)
            if self.refused(place) is not None:
                self.accept(place)
            assert self.refused(place) is None
            assert self.spent(place) == 3

    def test_a_rival_between_commit_and_mark_changes_nothing(self, folder: Path) -> None:
        """There the lock is free: the rival catches our mark up, then adds its own charge. Planted
        bug: our charge must be the last one when we come back.
        """
        with self.dying(("after", "commit", 1), lambda: bool(self.ask(folder, 3))):
            word = self.ask(folder, 2)
        assert self.refused(folder) is None
        assert self.published(folder)[2] == word
        assert self.spent(folder) == self.charges(folder) == 4

    # Races of processes.
    def race(self, folder: Path, numbers: list[list[int]]) -> Counter[str]:
        """What each of some processes got for its questions, when all ask at once."""
        program = [sys.executable, "-m", "ledger_contract"]
        role = [type(self).__module__, type(self).__name__, str(folder)]
        rivals = [
            subprocess.Popen(
                [*program, *role, *map(str, mine)],
                env=ENVIRONMENT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for mine in numbers
        ]
        for rival in rivals:
            assert rival.stdout is not None
            assert rival.stdout.readline() == "ready\n"
        for rival in rivals:
            assert rival.stdin is not None
            rival.stdin.write("go\n")
            rival.stdin.flush()
        answers = [json.loads(rival.communicate(timeout=100)[0]) for rival in rivals]
        return Counter(word for words in answers for word in words)

    def test_rivals_that_ask_at_once_never_pass_the_cap(self, folder: Path) -> None:
        """Planted bug: a cap that is checked before the lock is held."""
        answers = self.race(folder, [[2 + 3 * n, 3 + 3 * n, 4 + 3 * n] for n in range(6)])
        assert answers["BudgetExceeded"] == 18 - (CAP - 2)
        assert self.spent(folder) == self.charges(folder) == CAP

    def test_rivals_with_one_question_share_one_draw_and_one_charge(self, folder: Path) -> None:
        """Planted bug: a question that is looked up before the lock is held."""
        words = {word for word in self.race(folder, [[2]] * 6) if word.isdigit()}
        assert len(words) == 1
        assert self.spent(folder) == self.charges(folder) == 3
        assert {str(self.ask(folder, 2))} == words

    def test_rivals_that_make_the_ledger_at_once_share_it(self, tmp_path: Path) -> None:
        """Planted bug: tables that are made without a lock."""
        answers = self.race(tmp_path, [[n] for n in range(6)])
        assert sum(word.isdigit() for word in answers) == 6
        assert self.spent(tmp_path) == self.charges(tmp_path) == 6
        assert self.refused(tmp_path) is None

    # Power loss, kills and full disks, at the system calls of the program as it is.
    def act(self, folder: Path, count: int) -> Act:
        """So many questions, each twice."""

        def act(say: Say) -> None:
            with suppress(LedgerError):
                self.make(folder)
            for number in range(2 * count):
                with suppress(LedgerError):
                    self.ask(folder, number // 2, say)

        return act

    def check(self, folder: Path, words: list[str]) -> None:
        """What was published is paid, is the only word of its question, and is given again."""
        self.make(folder)
        assert self.refused(folder) is None
        said = {tuple(map(int, each.split()[1:])) for each in words if each.startswith("publ")}
        assert said <= set(self.published(folder).items())
        assert self.spent(folder) == self.charges(folder)
        self.check_words(folder, words)
        for number, word in self.published(folder).items():
            assert self.ask(folder, number) == word
        assert self.spent(folder) == self.charges(folder)
        self.ask(folder, 5)

    def histories(self, tmp_path: Path, count: int) -> int:
        folder = tmp_path / "recorded"
        folder.mkdir()
        record = watch(self.act(folder, 2), folder)
        assert len([each for each in record.said if each.startswith("published")]) == 4
        return check_histories(record, folder, tmp_path / "after", self.check, count)

    @traceable
    def test_no_power_loss_brings_a_second_draw_or_an_unpaid_one(self, tmp_path: Path) -> None:
        assert self.histories(tmp_path, 250) > 50

    @traceable
    @pytest.mark.audit
    def test_no_power_loss_of_ten_thousand_brings_a_second_draw(self, tmp_path: Path) -> None:
        assert self.histories(tmp_path, 10_000) > 300

    @traceable
    def test_a_kill_or_a_full_disk_at_a_call_brings_no_second_draw(self, tmp_path: Path) -> None:
        act = partial(self.act, count=1)
        assert check_every_call(act, tmp_path, self.check, every=5) > 40

    @traceable
    @pytest.mark.audit
    def test_a_kill_or_a_full_disk_at_any_call_brings_no_second_draw(self, tmp_path: Path) -> None:
        assert check_every_call(partial(self.act, count=1), tmp_path, self.check) > 40

    def test_a_folder_that_cannot_be_synced_loses_one_charge_at_most(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As one that may be written and not read; nor does a full disk of the mark, which heals.
        What is committed is not returned before it is marked. Planted bug: a mark whose error is
        swallowed.
        """
        opened, marks = os.open, self.files(folder)[1].parent

        def unread(path: Any, *rest: Any, **more: Any) -> int:
            if path == marks:
                raise PermissionError(13, "Permission denied")
            return opened(path, *rest, **more)

        full = Mock(side_effect=OSError(28, "No space left on device"))
        for owner, name, broken, words, charges in (
            (os, "open", unread, "Permission denied", 3),
            (self.module, "replace_file", full, "No space left", 5),
        ):
            with monkeypatch.context() as patch:
                patch.setattr(owner, name, broken)
                for number in (2, 3, 4):
                    with pytest.raises(LedgerError, match=words):
                        self.ask(folder, charges + number)
            assert self.spent(folder) == self.charges(folder) == charges
            self.ask(folder, charges + 5)
            assert self.spent(folder) == self.charges(folder) == charges + 1

    # What went wrong, and what to do.
    def test_a_damaged_file_asks_for_a_backup(self, folder: Path) -> None:
        path, _ = self.files(folder)
        path.write_bytes(b"\xff" * path.stat().st_size)
        with pytest.raises(LedgerError, match="it is damaged: put a backup in its place"):
            self.ask(folder, 2)

    def test_a_file_that_another_program_locks_says_so(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with closing(sqlite3.connect(self.files(folder)[0], isolation_level=None)) as rival:
            rival.execute("BEGIN IMMEDIATE")
            patient = sqlite3.connect
            monkeypatch.setattr(
                sqlite3, "connect", lambda *a, **more: patient(*a, **{**more, "timeout": 0})
            )
            with pytest.raises(LedgerError, match=r"another program .* locked: wait for"):
                self.ask(folder, 2)
        assert self.charges(folder) == 2

    def test_a_full_disk_asks_for_space(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """SQLite itself says so: it may not take a second page."""

        class Small(sqlite3.Connection):
            def __init__(self, *rest: Any, **more: Any) -> None:
                super().__init__(*rest, **more)
                self.execute("PRAGMA max_page_count = 1")

        monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Small))
        with pytest.raises(LedgerError, match="the disk is full: free some space"):
            self.make(tmp_path)

    def test_a_read_only_folder_asks_to_make_it_writable(self, folder: Path) -> None:
        with unwritable(folder), pytest.raises(LedgerError, match="read-only: make"):
            self.ask(folder, 2)
        assert self.charges(folder) == 2

    # The file itself.
    def test_every_commit_of_a_charge_waits_for_the_disk(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A kill cannot show it: the kernel keeps what a dead one wrote. Planted bug: NORMAL."""
        levels: list[int] = []

        class Watched(sqlite3.Connection):
            def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
                if sql == "COMMIT":
                    levels.extend(super().execute("PRAGMA synchronous").fetchone())
                return super().execute(sql, *rest)

        monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Watched))
        self.ask(folder, 2)
        assert len(levels) >= self.commits
        assert set(levels[-self.commits :]) == {FULL}

    def test_the_tables_are_append_only(self, folder: Path) -> None:
        """Planted bug: no trigger against a change of what was spent."""
        with closing(sqlite3.connect(self.files(folder)[0], isolation_level=None)) as database:
            tables = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            names = [name for [name] in tables.fetchall()]
            used = [name for name in names if [*database.execute(f"SELECT 1 FROM {name}")]]
            assert len(used) >= 2
            for name in used:
                columns = database.execute(f"PRAGMA table_info({name})").fetchall()
                for change in (f"UPDATE {name} SET {columns[-1][1]} = NULL", f"DELETE FROM {name}"):
                    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                        database.execute(change)

    def test_a_file_that_others_may_write_is_refused(self, tmp_path: Path) -> None:
        """Of another account, too, which may write it whatever its mode says today; and whatever
        the umask is, they are not made so. Planted bug: a look at one of the files only, or at one
        of the two bits.
        """
        before = os.umask(0)
        try:
            self.make(tmp_path)
            self.ask(tmp_path, 0)
        finally:
            os.umask(before)
        for path in self.files(tmp_path):
            assert path.stat().st_mode & 0o777 == 0o600
            for mode in (0o620, 0o602, 0o777):
                path.chmod(mode)
                with pytest.raises(LedgerError, match=r"not yours alone.*\(chmod go-w\)"):
                    self.ask(tmp_path, 2)
            path.chmod(0o600)
            if os.getuid() == 0:  # only root can give a file away
                os.chown(path, 65534, 65534)
                with pytest.raises(LedgerError, match="owned by you"):
                    self.ask(tmp_path, 2)
                os.chown(path, 0, 0)
        self.ask(tmp_path, 2)


def backed_up(path: Path, copy: Path) -> None:
    with closing(sqlite3.Connection(path)) as database, closing(sqlite3.Connection(copy)) as into:
        database.backup(into)


def die() -> None:
    raise Crash


def main(module: str, name: str, folder: str, *numbers: str) -> None:
    """Ask these questions once it is told to go, and print what came of each."""
    role: LedgerContract = getattr(import_module(module), name)()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    said = []
    for number in map(int, numbers):
        try:
            role.make(Path(folder))
            said.append(str(role.ask(Path(folder), number)))
        except AskewError as error:
            said.append(type(error).__name__)
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Who writes the ledger and not the anchor can stop spending, and can never give budget back."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from askew.dp.privacy import ANY_SPACE, SignalCharge
from askew.errors import AskewError, BudgetExceeded, LedgerError, LedgerFrozen, ProfileError
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew.spaces.map import MapNoise
from askew_client.profile.document import ProfileDocument
from askew_client.profile.store import ProfileStore
from askew_client.settings.settings import Caps
from askew_client.signals import records as ledger_rows
from askew_client.signals.chain import Entry, Head, heads, kept
from askew_client.signals.records import encode_signal
from askew_client.signals.store import SignalStore

SPACE = "0123456789abcdef" * 2
CHARGE = SignalCharge(Fraction(2))
MINE, FORGED = (
    Signal(SPACE, LatticeLaplace(11, 1024), (1, 0)),
    Signal(SPACE, LatticeLaplace(11, 1024), (66, 0)),
)


def never() -> Signal:
    pytest.fail("a signal was drawn")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with signals of October and November, and a cap that is spent."""
    path = tmp_path / "data" / "signals.sqlite"
    for month in ("2026-10", "2026-11"):
        store(path).remember(SPACE, month, CHARGE, lambda: MINE)
    with pytest.raises(BudgetExceeded):
        store(path).remember(SPACE, "2026-12", CHARGE, never)
    return path


def store(path: Path, cap: int = 4) -> SignalStore:
    return SignalStore(path, Caps(Fraction(cap)))


def anchor(path: Path) -> Path:
    return path.parent / "anchor" / "signals.json"


def forge(path: Path, *entries: Entry, after: int | None = None) -> list[Head]:
    """Write entries as the program would, in place of those after the first few."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        if after is not None:
            database.execute("DELETE FROM signals WHERE charge > ?", (after,))
            database.execute("DELETE FROM charges WHERE id > ?", (after,))
        found = heads(ledger_rows.read_entries(database))
        for entry in entries:
            found.append(ledger_rows.append_entry(database, found[-1], entry))
    return found


def unfreeze(month: str = "2026-11", epsilon: Fraction = Fraction(0)) -> Entry:
    return Entry("unfreeze", "", month, epsilon, None, "salt")


def charged(month: str, epsilon: Fraction = Fraction(1), near: Fraction | None = None) -> Entry:
    return Entry("signal", SPACE, month, epsilon, near, "salt", encode_signal(FORGED))


def test_an_entry_that_gives_budget_back_draws_no_second_signal(path: Path) -> None:
    """Planted bug: an entry one ahead of its anchor is the crash window."""
    before = anchor(path).read_bytes()
    forge(path, unfreeze(epsilon=Fraction(-4)))
    with pytest.raises(LedgerError, match="damaged"):
        store(path).remember(SPACE, "2026-12", CHARGE, never)
    with pytest.raises(LedgerError, match="damaged"):
        store(path).unfreeze("2026-12")
    assert anchor(path).read_bytes() == before


FORGERIES = {
    "an unfreeze that turns the clock back": ([unfreeze("2020-01")], None),
    "a signal": ([charged("2026-12")], None),
    "two signals": ([charged("2026-12"), charged("2027-01")], None),
    "a cheaper signal in place of the last": ([charged("2026-11")], 1),
    "a signal in place of the first of two": ([charged("2026-10")], 0),
    "as many entries as there were": ([charged("2026-10"), charged("2026-11")], 0),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_an_entry_that_was_not_announced_freezes(path: Path, forgery: str) -> None:
    """Planted bugs: a head is believed that is one ahead of what was kept, or that has as many
    entries.
    """
    entries, after = FORGERIES[forgery]
    before = anchor(path).read_bytes()
    forge(path, *entries, after=after)
    for month in ("2020-01", "2026-12", "2027-02"):
        with pytest.raises(LedgerFrozen, match="somebody else wrote entries"):
            store(path, cap=100).remember("f" * 32, month, CHARGE, never, second_space=True)
    assert store(path).account().frozen is not None
    assert anchor(path).read_bytes() == before


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_signal_is_never_sent_and_those_before_it_are(path: Path, forgery: str) -> None:
    """Planted bug: whatever is stored is sent again, also from a frozen ledger."""
    entries, after = FORGERIES[forgery]
    forge(path, *entries, after=after)
    mine = ("2026-10", "2026-11")[:after]
    for month in ("2026-10", "2026-11", "2026-12", "2027-01"):
        assert store(path).find(SPACE, month) == (month, MINE if month in mine else None)
        if month in mine:
            assert store(path).remember(SPACE, month, CHARGE, never)[0] == MINE
        else:
            with pytest.raises(LedgerFrozen):
                store(path).remember(SPACE, month, CHARGE, never)


def test_an_anchor_behind_a_link_stays_where_the_link_leads(path: Path, tmp_path: Path) -> None:
    """Planted bug: the link replaced by a file beside the ledger, whose backup then has both."""
    elsewhere = tmp_path / "another disk.json"
    anchor(path).rename(elsewhere)
    anchor(path).symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    store(path, cap=6).remember(SPACE, "2026-12", CHARGE, lambda: MINE)
    assert anchor(path).readlink() == elsewhere
    assert elsewhere.read_bytes() != before


def test_without_an_anchor_no_stored_signal_is_believed(path: Path) -> None:
    anchor(path).unlink()
    with pytest.raises(LedgerFrozen, match="anchor is missing"):
        store(path).remember(SPACE, "2026-11", CHARGE, never)


def test_an_entry_in_place_of_one_that_was_announced_and_lost_freezes(path: Path) -> None:
    """After a crash before the commit, the announcement is good for that one entry alone."""
    content = json.loads(anchor(path).read_text())
    anchor(path).write_text(json.dumps({**content, "announced": "a" * 64}))
    assert store(path).account().frozen is None
    forge(path, charged("2026-12"))
    with pytest.raises(LedgerFrozen):
        store(path).remember(SPACE, "2026-12", CHARGE, never)


@pytest.mark.parametrize("forged", [charged("2026-12"), unfreeze("2026-12")])
def test_an_entry_that_is_written_beside_ours_freezes(
    path: Path, monkeypatch: pytest.MonkeyPatch, forged: Entry
) -> None:
    """Between commit and anchor nothing is sent: our entry is no longer the last."""
    settle = SignalStore._settle

    def too_late(ours: SignalStore) -> None:
        forge(path, forged if forged.kind == "unfreeze" else charged("2027-01"))
        settle(ours)

    monkeypatch.setattr(SignalStore, "_settle", too_late)
    with pytest.raises(LedgerFrozen):
        store(path, cap=100).remember(SPACE, "2026-12", CHARGE, lambda: MINE)


NEVER_WRITTEN = {
    "a signal for nothing": charged("2026-12", Fraction(0)),
    "a signal that gives back": charged("2026-12", Fraction(-1)),
    "an unfreeze that gives back": unfreeze(epsilon=Fraction(-1)),
    "nothing per distance": charged("2026-12", near=Fraction(0)),
    "less than nothing per distance": charged("2026-12", near=Fraction(-1)),
    "no month": unfreeze("2026-13"),
}

POSITION = Signal(
    ANY_SPACE, MapNoise(HexagonalLattice.for_epsilon(Fraction(1, 4)), 40_000), (52_000_000, 0)
)


def placed(per_km: Fraction, kind: str = "signal", epsilon: Fraction = Fraction(0)) -> Entry:
    record = encode_signal(POSITION)
    return Entry(kind, "", "2026-12", epsilon, None, "salt", record, "a" * 32, per_km)


NEVER_WRITTEN |= {
    "a position for nothing": placed(Fraction(0)),
    "a position that gives back": placed(Fraction(-1)),
    "a position that is paid in the account of tastes": placed(Fraction(0), epsilon=Fraction(1)),
    "a position that is paid in both": placed(Fraction(1), epsilon=Fraction(1)),
    "an unfreeze with a signal": placed(Fraction(1), "unfreeze"),
    "an unfreeze that gives kilometers back": Entry(
        "unfreeze", "", "2026-12", Fraction(0), None, "salt", epsilon_per_km=Fraction(-1)
    ),
    "a taste that is paid per kilometer": Entry(
        *("signal", SPACE, "2026-12", Fraction(0), None, "salt", encode_signal(FORGED)),
        epsilon_per_km=Fraction(1),
    ),
    "another kind": placed(Fraction(1), "refund"),
}


class Text(Fraction):
    """A number that is written in a way of its own."""

    written = ""

    def __str__(self) -> str:
        return self.written


def written(text: str) -> Text:
    number = Text(1)
    number.written = text
    return number


for text in (
    "1.0",
    "2/2",
    "01",
    "1e0",
    "1e999999999",
    " 1",
    "1_0",
    "+1",
    "1/0",
    "",
    "-0",
    "\u0661",
):
    NEVER_WRITTEN[f"the text {text!r}"] = charged("2026-12", written(text))
    NEVER_WRITTEN[f"the text {text!r} per distance"] = charged("2026-12", near=written(text))


@pytest.mark.parametrize("kind", NEVER_WRITTEN)
def test_what_this_program_never_writes_is_refused_whoever_vouches_for_it(
    path: Path, kind: str
) -> None:
    """Also with the anchor of the forger. Planted bugs: no look at the sign; any text that means a
    number, of which some take all memory.
    """
    found = forge(path, NEVER_WRITTEN[kind])
    known = kept(found)
    said = {"links": known.links, "spent": "4", "spent_per_km": "0", "announced": None}
    anchor(path).write_text(json.dumps(said))
    for act in (
        store(path).account,
        lambda: store(path).remember(SPACE, "2026-11", CHARGE, never),
        lambda: store(path).find(SPACE, "2026-11"),
        lambda: store(path).unfreeze("2026-12"),
    ):
        with pytest.raises(LedgerError, match="the ledger is damaged"):
            act()


def test_nothing_is_booked_twice_or_lost_where_a_forgery_is_accepted(path: Path) -> None:
    """What the person accepts never costs less than what was really spent."""
    forge(path, charged("2026-10"), after=0)
    assert store(path).unfreeze("2026-12") == 3
    assert store(path).account().frozen is None
    assert store(path).account().spent == 4


SCHEMAS = {
    "a trigger": ["CREATE TRIGGER copy AFTER INSERT ON {0} BEGIN DELETE FROM {0}; END"],
    "a table": ["CREATE TABLE copies (record)"],
    "an index": ["CREATE INDEX first ON {0} (1)"],
    "a view": ["CREATE VIEW both AS SELECT * FROM {0}"],
    "a table without its checks": [
        "CREATE TABLE copy AS SELECT * FROM {0}",
        "DROP TABLE {0}",
        "ALTER TABLE copy RENAME TO {0}",
    ],
}


def change_schema(path: Path, table: str, kind: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in SCHEMAS[kind]:
            database.execute(statement.format(table))


@pytest.mark.parametrize("kind", SCHEMAS)
@pytest.mark.parametrize("table", ["charges", "signals"])
def test_a_ledger_with_another_schema_is_refused(path: Path, kind: str, table: str) -> None:
    change_schema(path, table, kind)
    with pytest.raises(LedgerError, match="not as this program makes them"):
        store(path).account()
    with pytest.raises(LedgerError, match="not as this program makes them"):
        store(path).remember(SPACE, "2026-11", CHARGE, never)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_profile_with_another_schema_is_refused(tmp_path: Path, kind: str) -> None:
    """A trigger would copy every profile, also what is forgotten."""
    path = tmp_path / "profile.sqlite"
    profile = ProfileStore(path)
    profile.change(lambda document: document)
    change_schema(path, "profile", kind)
    with pytest.raises(ProfileError, match="not as this program makes them"):
        profile.change(never)  # type: ignore[arg-type]


Use = Callable[[], object]


def uses(folder: Path) -> dict[str, tuple[Use, type[AskewError]]]:
    """Each file, what reads it, and how that fails."""
    profile = ProfileStore(folder / "profile.sqlite")
    profile.change(lambda _: ProfileDocument())
    ledger = store(folder / "data" / "signals.sqlite")
    return {
        "profile.sqlite": (profile.read, ProfileError),
        "data/signals.sqlite": (ledger.account, LedgerError),
        "data/anchor/signals.json": (ledger.account, LedgerError),
    }


NAMES = ["profile.sqlite", "data/signals.sqlite", "data/anchor/signals.json"]
JOURNALS = [f"{name}{ending}" for name in NAMES[:2] for ending in ("-wal", "-shm")]
not_on_windows = pytest.mark.skipif(os.name != "posix", reason="accounts are not POSIX's there")


def journaled(path: Path) -> sqlite3.Connection:
    """Its journal stays as long as somebody reads."""
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    return reader


@not_on_windows
@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("name", [*NAMES, *JOURNALS])
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o777])
def test_a_file_that_others_may_write_is_refused(tmp_path: Path, name: str, mode: int) -> None:
    """Planted bugs: making it right without a word; a look at one bit, or at the file alone."""
    use, error = uses(tmp_path)[name.removesuffix("-wal").removesuffix("-shm")]
    readers = [journaled(tmp_path / other) for other in NAMES[:2]]
    (tmp_path / name).chmod(mode)
    with pytest.raises(error, match=r"others may write it.*\(chmod go-w\)") as refused:
        use()
    assert not isinstance(refused.value, LedgerFrozen)
    assert (tmp_path / name).stat().st_mode & 0o777 == mode
    (tmp_path / name).chmod(mode & ~0o022)
    use()
    for reader in readers:
        reader.close()


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("name", [*NAMES, *JOURNALS])
@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root can give a file away"
)
def test_a_file_of_another_account_is_refused(tmp_path: Path, name: str) -> None:
    """Its owner may write it, whatever its mode says today. Planted bug: a look at the mode."""
    use, error = uses(tmp_path)[name.removesuffix("-wal").removesuffix("-shm")]
    readers = [journaled(tmp_path / other) for other in NAMES[:2]]
    os.chown(tmp_path / name, 65534, 65534)
    with pytest.raises(error, match="must be yours"):
        use()
    for reader in readers:
        reader.close()


@not_on_windows
def test_an_anchor_that_others_may_write_is_not_taken_over(path: Path) -> None:
    """What it knows of lost entries is not forgotten by accepting: it is put right first."""
    anchor(path).chmod(0o666)
    path.unlink()
    with pytest.raises(LedgerError, match="others may write it"):
        store(path).unfreeze("2026-12")
    anchor(path).chmod(0o600)
    assert store(path).unfreeze("2026-12") == 4

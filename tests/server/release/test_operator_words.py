"""What an operator reads: what was released, what is left, which releases there are."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from askew.dp.release import release_from_bytes

BUDGET, FAILED = 3, 1
Run = Callable[..., int]
Captured = pytest.CaptureFixture[str]
KNOWN = ("release", "--events", "log.csv", "--catalog", "films.csv", "--epsilon", 20, "-k", 3)
GRANT = (
    *("ledger", "grant", "--dataset", "films", "--principal", "ada", "--slack", "1e-8"),
    *(
        "--outputs",
        100,
        "--questions",
        10,
        "--epsilon-per-output",
        "0.1",
        "--delta-per-question",
        "1e-9",
    ),
)


def charges(run: Run, capsys: Captured) -> list[dict[str, str]]:
    capsys.readouterr()
    assert run("ledger", "show", "--format", "csv") == 0
    return [*csv.DictReader(io.StringIO(capsys.readouterr().out))]


# -- what a charge was for ------------------------------------------------------------------------


def test_a_charge_is_called_what_was_released_for_it(
    opened: Path, run: Run, capsys: Captured
) -> None:
    """Planted bug: a prior, and a charge that has no release, called a public list."""
    from fractions import Fraction

    from askew.dp.analyst import PayWhatYouGet
    from askew.dp.privacy import ADD_OR_REMOVE_ONE, PureDP
    from askew_server.ledger import Charge, ChargeRequest, Ledger

    assert run(*KNOWN) == 0
    assert run(*GRANT) == 0
    terms = PayWhatYouGet(
        k_star=100,
        l_star=10,
        epsilon=Fraction(1, 10),
        delta=Fraction(1, 10**9),
        slack=Fraction(1, 10**8),
    )
    loss = PureDP(Fraction(1), ADD_OR_REMOVE_ONE)
    with Ledger(opened / "askew-ledger.sqlite", opened / "askew-ledger.sqlite.anchor") as book:

        def charge(key: str, principal: str | None = None) -> int:
            spend = terms.answer(5) if principal else loss
            request = ChargeRequest(
                dataset="films",
                version="1",
                key=key,
                digest=bytes(32),
                loss=spend,
                principal=principal,
            )
            made = book.charge(request)
            assert isinstance(made, Charge)
            return made.id

        book.fulfill(charge("prior 1"), b'{"kind": "prior", "version": 1}')
        charge("crashed")
        book.fulfill(charge("asked", "ada"), b"an answer", 3)
        charge("asked and crashed", "ada")
    released = [row["released"] for row in charges(run, capsys)]
    assert released == ["list", "prior", "nothing", "answer", "nothing"]


# -- what is left ---------------------------------------------------------------------------------


def test_a_refused_release_says_what_is_left_of_the_data_sets_budget(
    opened: Path, run: Run, capsys: Captured
) -> None:
    """Planted bug: the device's words, "lifetime cap", to somebody who has none."""
    assert run(*KNOWN) == 0
    assert run(*KNOWN, "--epsilon", 21) == BUDGET
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == (
        "askew-server: this would cost 21 epsilon; 20 of the data set's budget of 40 is spent, "
        "20 is left"
    )


def test_a_refused_grant_says_the_same(opened: Path, run: Run, capsys: Captured) -> None:
    assert run(*GRANT, "--outputs", 40_000) == BUDGET
    assert "of the data set's budget of 40 is spent, 40 is left" in capsys.readouterr().err


def test_a_refused_delta_is_called_delta(opened: Path, run: Run, capsys: Captured) -> None:
    unknown = ("release", "--events", "log.csv", "--epsilon", 20, "--delta", "1e-5", "-k", 5)
    assert run(*unknown) == BUDGET
    assert "this would cost 1e-05 delta; 0 of the data set's" in capsys.readouterr().err


# -- which releases there are ---------------------------------------------------------------------

NAMING = [
    ("releases", "show", 999),
    ("serve", "--demo", "--ledger", "askew-ledger.sqlite", "--port", 0, "--popularity", 999),
]


@pytest.mark.parametrize("command", NAMING, ids=["show", "serve"])
def test_a_release_that_is_not_there_is_answered_with_those_that_are(
    opened: Path, run: Run, capsys: Captured, command: tuple[object, ...]
) -> None:
    assert run(*command) == FAILED
    assert "no release 999; it has none yet" in capsys.readouterr().err
    assert run(*KNOWN, "--key", "a") == 0
    assert run(*KNOWN, "--key", "b") == 0
    capsys.readouterr()
    assert run(*command) == FAILED
    assert "askew-ledger.sqlite has no release 999; it has 2, 4\n" in capsys.readouterr().err


def test_a_release_of_other_items_orders_no_cold_start(
    opened: Path, run: Run, capsys: Captured
) -> None:
    """Planted bug: "0 items", and newcomers who are told that they see it."""
    assert run(*KNOWN, "--key", "a") == 0
    capsys.readouterr()
    assert run(*NAMING[1][:-1], 2) == FAILED
    said = capsys.readouterr().err
    assert re.search(
        r"release 2 orders no cold start: none of its \d+ items is in the catalog", said
    )


def test_the_releases_that_are_named_are_bounded(opened: Path, run: Run, capsys: Captured) -> None:
    for number in range(22):
        assert run(*KNOWN, "--epsilon", 1, "--key", number) == 0
    capsys.readouterr()
    assert run("releases", "show", 999) == FAILED
    said = capsys.readouterr().err
    assert said.count(",") == 20  # nineteen between twenty numbers, one before the advice
    assert "and more, see askew-server releases list" in said


# -- formulas -------------------------------------------------------------------------------------

HOSTILE = ["=1+1", "+1", "-1", "@a", "'a", "''", "＝1", "a=1", '=HYPERLINK("x","y")', "harmless"]  # noqa: RUF001


def release_hostile(folder: Path, run: Run, form: str) -> None:
    (folder / "items.parquet").unlink(missing_ok=True)
    with duckdb.connect() as database:
        database.execute("CREATE TABLE items AS SELECT unnest($1) AS item", [HOSTILE])
        database.execute("COPY items TO 'items.parquet'")
    hostile = ("--catalog", "items.parquet", "-k", len(HOSTILE), "--format", form)
    assert run("release", "--events", "log.csv", "--epsilon", 1, *hostile) == 0


def test_no_item_in_csv_begins_a_formula(opened: Path, run: Run, capsys: Captured) -> None:
    """And taking one leading apostrophe off gives every item back, also one that had its own."""
    release_hostile(opened, run, "csv")
    rows = [*csv.DictReader(io.StringIO(capsys.readouterr().out))]
    assert not [row for row in rows if row["item"][0] in "=+-@\t\r\n＝＋－＠"]  # noqa: RUF001
    assert {row["item"].removeprefix("'") for row in rows} == set(HOSTILE)
    plain = {row["item"] for row in rows} & set(HOSTILE)
    assert plain == {"a=1", "harmless", "''"} - {"''"}
    assert [row["place"] for row in rows] == [str(n) for n in range(1, 11)]


def test_json_and_tables_keep_items_as_they_are(opened: Path, run: Run, capsys: Captured) -> None:
    release_hostile(opened, run, "json")
    shown = capsys.readouterr().out
    assert set(release_from_bytes(shown.encode().removesuffix(b"\n")).items) == set(HOSTILE)
    release_hostile(opened, run, "table")
    lines = capsys.readouterr().out.splitlines()
    assert all(any(line.endswith(f"  {item}") for line in lines) for item in HOSTILE)


# -- engines --------------------------------------------------------------------------------------


def test_a_key_is_bound_to_the_engine_that_was_asked(
    opened: Path, run: Run, capsys: Captured
) -> None:
    """The same table names and parameters, of another database: another request."""
    for name in ("one", "two"):
        with duckdb.connect(str(opened / f"{name}.duckdb")) as database:
            database.execute("CREATE TABLE events AS FROM 'log.csv'")
    source = ("--events", "events", "--catalog", "films.csv", "--as-of", "monday")
    asked = ("release", *source, "--epsilon", 20, "-k", 3)
    assert run(*asked, "--key", "monday", "--engine", "duckdb:one.duckdb") == 0
    assert run(*asked, "--key", "monday", "--engine", "duckdb:two.duckdb") == FAILED
    assert "stands for another request" in capsys.readouterr().err
    assert run(*asked, "--key", "monday", "--engine", "duckdb:one.duckdb") == 0
    assert len(charges(run, capsys)) == 1


def test_an_unfreeze_says_what_happened_and_what_is_spent(
    opened: Path, run: Run, capsys: Captured
) -> None:
    anchor = opened / "askew-ledger.sqlite.anchor"
    old = anchor.read_bytes()
    assert run(*KNOWN) == 0
    anchor.write_bytes(old)
    unfreeze = ("ledger", "unfreeze", "--reason", "the anchor's disk died")
    assert run(*unfreeze) == FAILED
    said = capsys.readouterr().err
    assert "the anchor is behind" in said
    assert "--nothing-lost" in said
    assert run(*unfreeze, "--nothing-lost") == 0
    shown = capsys.readouterr().out
    assert "the anchor is behind" in shown
    assert "films: epsilon 20, delta 0" in shown
    assert json.loads(show(run, capsys))["frozen"] is None


def show(run: Run, capsys: Captured) -> str:
    assert run("ledger", "show", "--format", "json") == 0
    return capsys.readouterr().out

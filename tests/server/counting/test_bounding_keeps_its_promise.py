"""One unit more or less changes at most Delta counts, by one each: whatever the events are.

On DuckDB, by properties. Power: dropping the DISTINCT, the bound, the partition by unit (an order
that depends on the events of others), the numbers that keep units of one hash apart, or our hash
for the engine's own fails a test below.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from server.counting.contract import task
from server.counting.reference import KEY, Pair, columns_of, reference_counts

from askew.errors import ParameterError
from askew.noise.randomness import SystemBits
from askew_server.counting import CountingTask, TopCounts, count_events, count_top, statements
from askew_server.counting.engines.duckdb import DuckDBEngine

Count = Callable[[list[Pair], int], dict[str, int]]
ids = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=4)
few = st.sampled_from(["a", "b", "c", "d", "e", "f"])
logs = st.lists(st.tuples(few | ids, few | ids), max_size=24)
shared = settings(
    deadline=None,
    max_examples=60,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture
def count() -> Iterator[Count]:
    """Every count of some events, under a bound."""
    engine = DuckDBEngine()
    engine.execute("SET threads = 1")
    column = "unnest(from_json(${}, '[\"VARCHAR\"]')) AS {}"
    columns = ", ".join(column.format(name, name) for name in ("unit", "item"))

    def counted(events: list[Pair], max_items: int) -> dict[str, int]:
        units, items = map(json.dumps, columns_of(events))
        sql = f"CREATE OR REPLACE TABLE events AS SELECT {columns}"
        engine.execute(sql, {"unit": units, "item": items})
        asked = task("events", max_items=max_items, limit=10_000)
        top = count_top(engine, asked, KEY)
        return dict(zip(top.items, top.counts, strict=True))

    yield counted
    engine.close()


def changes(before: dict[str, int], after: dict[str, int]) -> list[int]:
    """By how much each count fell."""
    return [before.get(item, 0) - after.get(item, 0) for item in before.keys() | after.keys()]


def require_bounded_changes(count: Count, events: list[Pair], max_items: int) -> None:
    """Without any one unit at most max_items counts are lower, each by one, and none is higher."""
    everybody = count(events, max_items)
    for gone in {unit for unit, _ in events}:
        fell = changes(everybody, count([e for e in events if e[0] != gone], max_items))
        assert set(fell) <= {0, 1}
        assert sum(fell) <= max_items


@shared
@given(events=logs, max_items=st.integers(1, 4))
def test_one_unit_changes_few_counts_by_one(
    count: Count, events: list[Pair], max_items: int
) -> None:
    require_bounded_changes(count, events, max_items)


@pytest.mark.slow
@shared
@given(events=logs.filter(bool), other=few | ids, max_items=st.integers(1, 4))
def test_one_changed_event_takes_one_item_out_and_brings_one_in(
    count: Count, events: list[Pair], other: str, max_items: int
) -> None:
    """As docs/guarantees.md says of one event: two steps of one unit more or less, not one."""
    (unit, _), *rest = events
    for after in (rest, [(unit, other), *rest]):
        fell = changes(count(events, max_items), count(after, max_items))
        assert sorted(filter(None, fell)) in ([], [-1], [1], [-1, 1])


@shared
@given(events=logs, max_items=st.integers(1, 4))
def test_any_events_are_counted_as_the_definition_says(
    count: Count, events: list[Pair], max_items: int
) -> None:
    assert count(events, max_items) == dict(reference_counts(events, max_items))


def test_the_choice_is_spread_evenly_over_items(count: Count) -> None:
    """4,000 units with the same 8 items, 2 counted each: every item 1,000 times, but for chance.

    The count of an item is binomial(4000, 1/4), sd 27.4; six of them are 164: false alarms in
    2e-8 of all keys, and this key is fixed. An order by item alone would count 4,000 and 0.
    """
    events = [(f"person {n}", item) for n in range(4000) for item in "abcdefgh"]
    counts = count(events, 2)
    assert sum(counts.values()) == 8000
    assert all(abs(n - 1000) < 164 for n in counts.values())


def test_units_of_one_hash_are_bounded_apart(count: Count, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here all have one hash. Planted bug: without twins, the second unit takes the places of the
    first.
    """
    events = [*(("p", item) for item in "cde"), *(("q", item) for item in "abc")]
    monkeypatch.setattr(statements, "_HASH", "number[LEFT($secret || text[{id}], 0) || '7']")
    require_bounded_changes(count, events, 2)
    assert sum(count(events, 2).values()) == 4


def test_counts_print_without_what_they_hold() -> None:
    """Nor is a key of another length shown, which is refused."""
    top = TopCounts(("hidden",), (1,))
    assert repr(top) == str(top) == "TopCounts()"
    for length in (31, 33):
        with pytest.raises(ParameterError, match="bounding key") as error:
            count_top(DuckDBEngine(), task("log.parquet"), b"\x7f" * length)
        assert "7f" not in str(error.value)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        *(({"max_items_per_unit": bound}, "max_items_per_unit") for bound in (0, -1, True, 1.0)),
        ({"limit": None}, "limit"),
        ({"limit": 0}, "limit"),
        ({"catalog": "catalog.csv"}, "limit"),
    ],
)
def test_a_task_that_makes_no_sense_is_refused(wrong: dict[str, Any], name: str) -> None:
    fields: dict[str, Any] = {"events": "log.parquet", "max_items_per_unit": 3, "limit": 3}
    with pytest.raises(ParameterError, match=name):
        CountingTask(**(fields | wrong))


def test_every_count_is_bounded_under_a_key_of_its_own(tmp_path: Path) -> None:
    """And neither the key nor what is made of it becomes SQL."""
    (tmp_path / "log.csv").write_text("unit,item\nsomebody,a\n")
    asked = task(str(tmp_path / "log.csv"))
    engine = DuckDBEngine()
    with patch.object(engine, "execute", wraps=engine.execute) as execute:
        for _ in range(2):
            count_events(engine, SystemBits(), asked)
        count_top(engine, asked, KEY)
    with_secret = [call.args for call in execute.call_args_list if len(call.args) > 1]
    statements, secrets = zip(*with_secret, strict=True)
    assert len({secret["secret"] for secret in secrets}) == 3
    for statement in statements:
        assert "$secret" in statement
        assert KEY.hex()[:8] not in statement
        assert set(re.findall("'.*?'", statement)) == {"'0x'"}

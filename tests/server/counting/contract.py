"""What every engine must do: the same rows as the definition, from the same events.

A subclass for each engine gives it a `bench`. Each test loads its events under a new name.
"""

from __future__ import annotations

import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from server.counting.reference import (
    KEY,
    Columns,
    Pair,
    columns_of,
    reference_counts,
    reference_likes,
    varied_events,
    write_parquet,
)

from askew.errors import DataError, ParameterError
from askew.mechanisms.covariance import Matrix, covariance
from askew_server.counting import CountingTask, Engine, count_top
from askew_server.counting.bounding import catalog_remarks, require_countable
from askew_server.counting.contract import LikesTask
from askew_server.counting.likes import columns_of_ratings, count_likes, require_likes
from askew_server.counting.statements import DIALECTS, carried

KEYS = tuple(sorted(["nobody's", *map(str, range(40))], key=str.encode))


class Bench(ABC):
    """An engine, and a way to give it a table."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._numbers = itertools.count(1)

    def new_name(self) -> str:
        return f"source_{next(self._numbers)}"

    @abstractmethod
    def load(self, name: str, columns: Columns, sql_type: str = "VARCHAR", last: str = "") -> str:
        """Stores columns, all of one type, or the last one of its own; a task's name for them."""

    def events(self, events: Sequence[Pair]) -> str:
        units, items = columns_of(events)
        return self.load(self.new_name(), {"unit": units, "item": items})

    def catalog(self, items: Sequence[str]) -> str:
        return self.load(self.new_name(), {"item": items})

    def count(self, task: CountingTask, key: bytes = KEY) -> list[tuple[str, int]]:
        counted = count_top(self.engine, task, key)
        return list(zip(counted.items, counted.counts, strict=True))


class ParquetBench(Bench):
    """Files of parquet."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        super().__init__(engine)
        self.folder = folder

    def load(self, name: str, columns: Columns, sql_type: str = "VARCHAR", last: str = "") -> str:
        path = self.folder / f"{name}.parquet"
        write_parquet(path, columns, sql_type, last)
        return str(path)


def task(
    events: str, *, max_items: int | None = 3, limit: int | None = 40, **names: str
) -> CountingTask:
    """Three items of a unit; 40 without a catalog."""
    limit = None if "catalog" in names else limit
    return CountingTask(events=events, max_items_per_unit=max_items, limit=limit, **names)


def likes_of(
    bench: Bench,
    rows: Sequence[tuple[object, ...]],
    most: int | None = None,
    rating_type: str = "",
) -> Matrix:
    """G of ratings of 4 and 5, of the items 0 to 39 and one that nobody rates."""
    unit, item, rating = ([row[place] for row in rows] for place in range(3))
    columns = {"userId": unit, "movieId": item, "rating": rating}
    name = bench.load(bench.new_name(), columns, "BIGINT", rating_type)
    unit_column, item_column, rating_column = columns_of_ratings(bench.engine, name)
    asked = LikesTask(
        events=name,
        unit_column=unit_column,
        item_column=item_column,
        rating_column=rating_column,
        keys=KEYS,
        least=4.0,
        most=5.0,
        max_items_per_unit=most,
    )
    require_likes(bench.engine, asked)
    return count_likes(bench.engine, asked, KEY)


FLOATS = ("NaN", "Infinity", "-Infinity", "1e-300", "1e300", "9223372036854775808", None)
TEXTS = (
    *(*FLOATS, "1e400", "1e-400", "", " ", "abc", "4 stars", "5d", "4f", "0x1p2", "0_5", "4,5"),
    *("\u0665", "4\u00a0", "--5", "4e", "."),
)


UUID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
INTEGERS = {
    "TINYINT": ("-128", "0", "127"),
    "BIGINT": ("-9223372036854775808", "9223372036854775807"),
    "VARCHAR": ("", " ", "01", "1", "1.0", "a", "a ", "NULL", "nan"),
}


class CountingContract:
    odd_ratings: ClassVar[Mapping[str, Sequence[str | None]]] = {
        "VARCHAR": (*TEXTS, "4\0", "\x015"),
        "DOUBLE": FLOATS,
        "DECIMAL(38, 0)": ("99999999999999999999999999999999999999", None),
        "BIGINT": ("9223372036854775807", None),
    }
    """By the types that an engine takes ratings in, values that are none from 4 to 5."""
    refused_ids: ClassVar[Sequence[str]] = (
        *("DOUBLE", "DECIMAL(9, 0)", "DATE", "BOOLEAN", "BLOB", "VARCHAR[]"),
    )
    accepted_ids: ClassVar[Mapping[str, Sequence[str]]] = INTEGERS

    def test_no_rating_fails_the_count_or_is_taken_for_another(self, bench: Bench) -> None:
        for kind, odd in self.odd_ratings.items():
            good: list[tuple[int, int, str | None]] = [(1, 1, "5"), (1, 2, "4"), (2, 2, "4.5e0")]
            good = [row for row in good if kind != "BIGINT" or row[0] == 1]
            rows = [*good, *((3, item, rating) for item, rating in enumerate(odd))]
            wanted = covariance(
                reference_likes([(unit, item, 5) for unit, item, _ in good], KEYS), len(KEYS)
            )
            assert np.array_equal(likes_of(bench, rows, None, kind), wanted), kind
        for kind in ("BOOLEAN", "DATE"):
            with pytest.raises(DataError, match="ratings must be numbers"):
                likes_of(bench, [], None, kind)

    def test_the_matrix_of_likes_is_that_of_the_definition(self, bench: Bench) -> None:
        """Planted bugs: events paired instead of distinct likes; weights of all ratings of a
        person; a like of an item that the catalog does not have in the weights; the cap without
        its key.
        """
        rows: list[tuple[int | None, int | None, int | None]] = [
            (u, (u * s) % 50 - 3, (u + s * s) % 7) for u in range(60) for s in range(u % 40)
        ]
        rows += [*rows[::3], (None, 1, 5), (7, None, 5), (7, 1, None), (99, 1, 3)]
        for most in (None, 1, 3):
            wanted = covariance(reference_likes(rows, KEYS, most), len(KEYS))
            assert np.array_equal(likes_of(bench, rows, most), wanted)

    def test_a_short_bounding_key_is_refused_before_anything_is_read(self, bench: Bench) -> None:
        asked = LikesTask(events="nowhere", keys=KEYS, rating_column="rating", least=4.0, most=5.0)
        with pytest.raises(ParameterError, match="bounding key"):
            count_likes(bench.engine, asked, KEY[:-1])

    def test_the_rows_are_those_of_the_definition(self, bench: Bench) -> None:
        """Without a bound, every item of a unit counts, once, and no key has a part in it. Planted
        bug: events counted instead of people.
        """
        events = [*varied_events(), *varied_events()]
        source = bench.events(events)
        for most, key in ((1, KEY), (3, KEY), (3, bytes(32)), (None, KEY), (None, bytes(32))):
            counted = bench.count(task(source, max_items=most), key)
            assert counted == reference_counts(events, most or 10**6, limit=40, key=key)
        wanted = ["é", "1", "nobody's", "7"]
        of_catalog = task(source, max_items=None, catalog=bench.catalog(wanted))
        assert bench.count(of_catalog) == reference_counts(events, 10**6, catalog=wanted)

    def test_a_catalog_brings_back_each_of_its_items_and_no_other(self, bench: Bench) -> None:
        events = varied_events()
        wanted = ["é", "1", "01", "nobody's", "Nobody's", "", "7", "13", "7"]
        asked = task(bench.events(events), catalog=bench.catalog(wanted))
        counted = bench.count(asked)
        assert counted == reference_counts(events, 3, catalog=wanted)
        assert counted[-2:] == [("Nobody's", 0), ("nobody's", 0)]

    def test_events_without_a_unit_or_an_item_fail_nothing_and_are_not_counted(
        self, bench: Bench
    ) -> None:
        """Planted bug: refused, so that one person's event decides between answer and error."""
        holes = [(None, "hidden"), (None, "a"), ("secret", None), ("p", None), (None, None)]
        events = [("p", "a"), ("q", "a"), ("p", "b")]
        units, items = zip(*holes, *events, strict=True)
        source = bench.load(bench.new_name(), {"unit": units, "item": items})
        for asked in (task(source), task(source, catalog=bench.catalog(["b", "a"]))):
            require_countable(bench.engine, asked)
            assert bench.count(asked) == [("a", 2), ("b", 1)]

    def test_a_catalog_has_no_missing_item_and_as_many_as_are_selected(self, bench: Bench) -> None:
        """Planted bug: rows counted, where an item may stand twice."""
        events = bench.events([("p", "a")])
        holed = task(events, catalog=bench.load(bench.new_name(), {"item": ["a", None]}))
        with pytest.raises(DataError, match="1 rows have no value in column 'item'"):
            require_countable(bench.engine, holed)
        for n_items, items in enumerate(([], ["a"], ["a", "b", "a"])):
            asked = task(events, catalog=bench.catalog(items))
            with pytest.raises(DataError, match=rf"has {n_items} diff.* {n_items + 1} are nee"):
                require_countable(bench.engine, asked, n_items + 1)
            require_countable(bench.engine, asked, n_items)

    def test_what_can_match_no_event_is_said_without_a_look_at_one(self, bench: Bench) -> None:
        """Planted bugs: digits of any kind are an integer; keys compared with the log's."""
        events = bench.load(bench.new_name(), {"unit": [7], "item": [65]}, "BIGINT")
        keys = ["65.0", "065", " 1", "2\r", "-0", "\u0663", "+4", "3", "3", "-12", "0"]
        asked = task(events, catalog=bench.catalog(keys))
        types, padded, twice = catalog_remarks(bench.engine, asked)
        assert "7 of 10 items" in types
        assert "2 items" in padded
        assert "1 items" in twice
        whole = replace(asked, catalog=bench.catalog(["3"]))
        assert catalog_remarks(bench.engine, whole) == []
        none = replace(asked, catalog=bench.catalog(keys[:4]))
        with pytest.raises(DataError, match="every count would be zero"):
            catalog_remarks(bench.engine, none)
        texts = replace(none, events=bench.events([("p", "a")]))
        [padded] = catalog_remarks(bench.engine, texts)
        assert "' 1'" in padded

    def test_columns_and_sources_may_have_any_name(self, bench: Bench) -> None:
        for name, unit, item in (
            (bench.new_name(), "events_table", "unit_column"),
            ('it\'s "one" `of` them; --', 'u"; DROP TABLE t; --', "i'; DROP TABLE t; --"),
            ("100%s of {a} $1", "100%s of $1, :secret, {secret:String} and $secret?", "select"),
            ("[a]*?", "it's `so`", "日本 x"),
        ):
            source = bench.load(name, {unit: ["p", "q"], item: ["a", "a"]})
            assert bench.count(task(source, unit_column=unit, item_column=item)) == [("a", 2)]

    def test_a_source_that_is_not_there_is_named(self, bench: Bench) -> None:
        source = bench.events([("p", "a")]).replace("source_", "absent_")
        with pytest.raises(DataError, match="absent_"):
            require_countable(bench.engine, task(source))

    def test_ids_of_other_types_are_refused_before_anything_is_read(self, bench: Bench) -> None:
        """Numbers that engines write differently, text that is compared or padded in a way of its
        own. Planted bug: the types of another dialect."""
        for kind in self.refused_ids:
            source = bench.load(bench.new_name(), {"unit": [], "item": []}, "VARCHAR", kind)
            with pytest.raises(DataError, match="column 'item' has the type"):
                require_countable(bench.engine, task(source))

    def test_ids_of_any_type_that_is_taken_are_counted_as_text(self, bench: Bench) -> None:
        for kind, ids in self.accepted_ids.items():
            source = bench.load(
                bench.new_name(), {"unit": ["p"] * len(ids), "item": ids}, "VARCHAR", kind
            )
            require_countable(bench.engine, task(source))
            counted = bench.count(task(source, max_items=len(ids)))
            assert counted == [(item, 1) for item in sorted(ids, key=str.encode)], kind

    @pytest.mark.parametrize(
        "statement",
        [
            "SELECT NUMBER($secret || e.item_column) FROM events_table AS e",
            "SELECT e.nothing, $secret FROM events_table AS e",
            "SELECT $secret FROM nowhere AS e WHERE e.item = 'hidden'",
        ],
    )
    def test_a_failing_statement_says_nothing_of_rows_or_of_the_secret(
        self, bench: Bench, statement: str, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """A value of another type, a column and a table that are not there: in one line of our own,
        and nowhere else. Planted bug: the engine's own words.
        """
        events = bench.events([("p", "hidden")])  # which may open the engine again
        words = DIALECTS[bench.engine.dialect]
        table = words.quoted(*bench.engine.table(events))
        names = {"events_table": table, "item_column": words.quoted("item")}
        # A cast fails where a text is no number.
        of_this_engine = re.sub(r"NUMBER\((.*?)\)", r"CAST(\1 AS INTEGER)", statement)
        sql = carried(of_this_engine, names, bench.engine.dialect)
        with pytest.raises(DataError) as error:
            bench.engine.execute(sql, {"secret": "canary"})
        [line] = str(error.value).splitlines()
        shown = capfd.readouterr()
        assert not re.search("hidden|canary", line + shown.out + shown.err)
        assert error.value.__cause__ is None
        assert error.value.__suppress_context__

"""The SQL of counting: written once, with the words in which three dialects of SQL differ.

Units with more than Delta items are few in most logs, so only these are ordered: everybody is
counted, and what their units may not keep is taken off again. The first unit is ordered with them
and loses nothing: where no unit is, an engine leaves out the join of all pairs, and the time would
tell whether one person has one item more than the bound.

The order within a unit is hash(unit) * hash(item) modulo a prime, then the item; the hash is MD5
under the secret, once for each id. The order spreads the choice evenly, no more: privacy needs only
that it looks at one unit's own items. Units of one hash are kept apart by their `twin` number, so
that the bound holds for every key.

What is taken off must be what was counted, so that is for engines that keep the pairs
(MATERIALIZED). Spark reads the events anew for each look, and a log may grow in between: it is
given the definition, which looks once; of likes too, both sides of a pair come from one array.

Ids stay in the types of their columns, which is faster, until they are hashed and returned as text.
Likes come back as text of many numbers, a row for a person or, where the engine pairs them, for an
item: millions of rows would cost a driver far more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from askew_server.counting.contract import CountingTask, LikesTask


@dataclass(frozen=True)
class Dialect:
    """What one engine writes where others write something else. "{}" is what a word is given.

    bytewise   compare a text by its bytes: words behind it.
    parameter  {name}, and {number} in the order of the names.
    number     seven hexadecimal digits as a BIGINT.
    rating     the number that a text is, or NULL; empty where only numbers are ratings. A cast
               reads more than numbers: Spark's "5d" and "5" with a NUL, DuckDB's "5_0".
    lines      the lines of a text, one in a row. joined: texts as one text, with spaces.
    """

    quote: str
    text: str
    bytewise: str
    parameter: str
    number: str
    rating: str
    lines: str
    joined: str
    texts: frozenset[str]
    integers: frozenset[str]
    fractions: frozenset[str]
    keeps_pairs: bool
    """Whether a common table is made once (MATERIALIZED), and not for each place that names it."""
    pairs_likes: bool
    """Whether the engine pairs the likes of a person itself, where the ratings are."""

    def quoted(self, *names: str) -> str:
        """Return an identifier of one or several parts, each in the engine's quotes with its own
        quotes doubled, with dots between them: "s"."t", of Spark `s`.`t`.
        """
        return ".".join(
            self.quote + name.replace(self.quote, 2 * self.quote) + self.quote for name in names
        )

    def named(self, column: str, type_name: str) -> str:
        """Return a column of this type as statements write it behind its table: quoted, and of text
        compared by its bytes, as "unit" COLLATE "C".
        """
        quoted = self.quoted(column)
        return self.bytewise.replace("{}", quoted) if self.has_text(type_name) else quoted

    def has_text(self, type_name: str) -> bool:
        """Return True if a column of this type holds text; a length in parentheses does not
        count.
        """
        return _without_length(type_name) in self.texts

    def has_ids(self, type_name: str) -> bool:
        """Return True if this type is text, whole numbers or uuid, whose values every engine writes
        alike.
        """
        return _without_length(type_name) in self.texts | self.integers | {"uuid"}

    def has_ratings(self, type_name: str) -> bool:
        """Return True if a column of this type may hold ratings: numbers, or text where the
        engine's `rating` reads it.
        """
        numbers = self.integers | self.fractions
        return _without_length(type_name) in (numbers | self.texts if self.rating else numbers)


def _without_length(type_name: str) -> str:
    return re.sub(r"\([\d, ]*\)$", "", type_name.lower())


_NUMBER = r"[ \t\r\n]*[+-]?[0-9.]+([eE][+-]?[0-9]+)?[ \t\r\n]*"
DIALECTS = {
    "duckdb": Dialect(
        quote='"',
        text="CAST({} AS TEXT)",
        bytewise='{} COLLATE "C"',
        parameter="${name}",
        number="CAST('0x' || {} AS BIGINT)",
        rating=f"CASE WHEN REGEXP_FULL_MATCH({{}}, '{_NUMBER}') THEN TRY_CAST({{}} AS DOUBLE) END",
        lines="UNNEST(STRING_SPLIT({}, CHR(10)))",
        joined="STRING_AGG({}, ' ')",
        texts=frozenset({"varchar"}),
        integers=frozenset(
            f"{sign}{size}"
            for sign in ("", "u")
            for size in ("tinyint", "smallint", "integer", "bigint", "hugeint")
        ),
        fractions=frozenset({"decimal", "float", "double"}),
        keeps_pairs=True,
        pairs_likes=False,
    ),
    "postgres": Dialect(
        quote='"',
        text="CAST({} AS TEXT)",
        bytewise='{} COLLATE "C"',
        parameter="CAST(${number} AS TEXT)",
        number="CAST(CAST('x' || {} AS BIT(28)) AS BIGINT)",
        rating="",
        lines="UNNEST(STRING_TO_ARRAY({}, CHR(10)))",
        joined="STRING_AGG({}, ' ')",
        texts=frozenset({"text", "varchar"}),
        integers=frozenset({"int2", "int4", "int8"}),
        fractions=frozenset({"numeric", "float4", "float8"}),
        keeps_pairs=True,
        pairs_likes=False,
    ),
    "spark": Dialect(
        quote="`",
        text="CAST({} AS STRING)",
        bytewise="{} COLLATE UTF8_BINARY",
        parameter=":{name}",
        number="CAST(CONV({}, 16, 10) AS BIGINT)",
        rating=f"CASE WHEN {{}} RLIKE '^{_NUMBER}$' THEN TRY_CAST({{}} AS DOUBLE) END",
        lines="EXPLODE(SPLIT({}, CHR(10)))",
        joined="ARRAY_JOIN(COLLECT_LIST({}), ' ')",
        texts=frozenset({"string"}),
        integers=frozenset({"tinyint", "smallint", "int", "bigint"}),
        fractions=frozenset({"decimal", "float", "double"}),
        keeps_pairs=False,
        pairs_likes=True,
    ),
}

# `carried` puts quoted identifiers in the places of *_table and *_column, which stand for what a
# task names, and a dialect's words in the places of word[...].
_CATALOG = """
SELECT DISTINCT bytewise[text[c.catalog_item_column]] AS item
FROM catalog_table AS c
WHERE c.catalog_item_column IS NOT NULL
"""
_PAIRS = """
SELECT DISTINCT e.unit_column AS unit, e.item_column AS item
FROM events_table AS e
WHERE e.unit_column IS NOT NULL AND e.item_column IS NOT NULL
"""
_PRIME = 2**31 - 1
_PAIRS_OF_CATALOG = f"""
{_PAIRS} AND bytewise[text[e.item_column]] IN ({_CATALOG})
"""
# 28 bits, so that the product of two is a BIGINT.
_HASH = "number[LEFT(MD5($secret || text[{id}]), 7)]"
_COUNTS = """
WITH pairs AS MATERIALIZED ({pairs}),
items AS (
  SELECT pairs.item AS item, {item_hash} AS hash, COUNT(*) AS n FROM pairs GROUP BY pairs.item
),
first AS (
  SELECT pairs.unit AS unit FROM pairs ORDER BY pairs.unit LIMIT 1
),
heavy AS (
  SELECT units.unit AS unit, units.hash AS hash,
    ROW_NUMBER() OVER (PARTITION BY units.hash ORDER BY units.unit) AS twin
  FROM (
    SELECT pairs.unit AS unit, {unit_hash} AS hash
    FROM pairs GROUP BY pairs.unit
    HAVING COUNT(*) > {bound} OR pairs.unit = (SELECT first.unit FROM first)
  ) AS units
),
placed AS (
  SELECT pairs.item AS item, ROW_NUMBER() OVER (
    PARTITION BY heavy.hash, heavy.twin
    ORDER BY heavy.hash * items.hash % {prime}, pairs.item
  ) AS place
  FROM pairs
  JOIN heavy ON heavy.unit = pairs.unit
  JOIN items ON items.item = pairs.item
),
dropped AS (
  SELECT placed.item AS item, COUNT(*) AS n
  FROM placed WHERE placed.place > {bound} GROUP BY placed.item
)
SELECT bytewise[text[items.item]] AS item, items.n - COALESCE(dropped.n, 0) AS n
FROM items LEFT JOIN dropped ON dropped.item = items.item
WHERE items.n > COALESCE(dropped.n, 0)
"""
_COUNTS_AT_ONE_LOOK = """
SELECT bytewise[text[placed.item]] AS item, COUNT(*) AS n
FROM (
  SELECT pairs.item AS item, ROW_NUMBER() OVER (
    PARTITION BY pairs.unit ORDER BY {unit_hash} * {item_hash} % {prime}, pairs.item
  ) AS place
  FROM ({pairs}) AS pairs
) AS placed
WHERE placed.place <= {bound}
GROUP BY placed.item
"""
_ALL_COUNTS = """
SELECT bytewise[text[pairs.item]] AS item, COUNT(*) AS n
FROM ({pairs}) AS pairs GROUP BY pairs.item
"""
_TOP = """
SELECT counted.item AS item, counted.n AS n
FROM ({counts}) AS counted
ORDER BY counted.n DESC, counted.item
LIMIT {limit}
"""
_WHOLE_CATALOG = """
SELECT catalog.item AS item, COALESCE(counted.n, 0) AS n
FROM ({catalog}) AS catalog LEFT JOIN ({counts}) AS counted ON counted.item = catalog.item
ORDER BY COALESCE(counted.n, 0) DESC, catalog.item
"""
_NO_ROWS = "SELECT * FROM events_table AS e LIMIT 0"
CATALOG_ITEMS = """
SELECT listed.item AS item, COUNT(*) AS n
FROM (SELECT bytewise[text[c.catalog_item_column]] AS item FROM catalog_table AS c) AS listed
GROUP BY listed.item
ORDER BY listed.item
"""

# The catalog's keys come as one parameter: they are no table of the engine, and never SQL text.
_PLACES = """
SELECT listed.item AS item, ROW_NUMBER() OVER (ORDER BY bytewise[listed.item]) - 1 AS place
FROM (SELECT lines[$keys] AS item) AS listed
"""
COUNT_PLACES = """
SELECT COUNT(*) FROM (SELECT lines[$keys] AS item) AS listed
"""
_LIKES = """
SELECT DISTINCT e.unit_column AS unit, places.place AS place
FROM events_table AS e
JOIN ({places}) AS places ON bytewise[text[e.item_column]] = places.item
WHERE e.unit_column IS NOT NULL
  AND {rating} BETWEEN {least} AND {most}
"""
_SOME_LIKES = """
SELECT ranked.unit AS unit, ranked.place AS place
FROM (
  SELECT likes.unit AS unit, likes.place AS place, ROW_NUMBER() OVER (
    PARTITION BY likes.unit ORDER BY {unit_hash} * {place_hash} % {prime}, likes.place
  ) AS rank
  FROM ({likes}) AS likes
) AS ranked
WHERE ranked.rank <= {bound}
"""
_LIKES_OF_PEOPLE = """
SELECT joined[text[kept.place]] AS likes FROM ({likes}) AS kept GROUP BY kept.unit
"""
_PAIRS_OF_ITEMS = """
SELECT pairs.one AS place, joined[CONCAT(text[pairs.other], ' ', pairs.sum)] AS row
FROM (
  SELECT sides.one AS one, sides.other AS other, text[SUM(sides.weight)] AS sum
  FROM (
    SELECT firsts.one AS one, EXPLODE(firsts.places) AS other, firsts.weight AS weight
    FROM (
      SELECT EXPLODE(people.places) AS one, people.places AS places,
        CAST(({unit} - {unit} % people.m) / people.m AS BIGINT) AS weight
      FROM (
        SELECT ARRAY_AGG(kept.place) AS places, COUNT(*) AS m
        FROM ({likes}) AS kept GROUP BY kept.unit
      ) AS people
    ) AS firsts
  ) AS sides
  WHERE sides.one <= sides.other
  GROUP BY sides.one, sides.other
) AS pairs
GROUP BY pairs.one
"""


def counting(task: CountingTask, dialect: str) -> str:
    """Return the SELECT that counts a task in a dialect, "duckdb", "postgres" or "spark", with
    stand-ins such as events_table that `carried` replaces: rows of item and n, the largest n first,
    ties by the item. With a contribution bound, it has the parameter $secret.
    """
    counts = _counts(task, dialect)
    if task.catalog is None:
        return _TOP.format(counts=counts, limit=task.limit)
    return _WHOLE_CATALOG.format(counts=counts, catalog=_CATALOG)


def _counts(task: CountingTask, dialect: str) -> str:
    pairs = _PAIRS if task.catalog is None else _PAIRS_OF_CATALOG
    if task.max_items_per_unit is None:
        return _ALL_COUNTS.format(pairs=pairs)
    return (_COUNTS if DIALECTS[dialect].keeps_pairs else _COUNTS_AT_ONE_LOOK).format(
        pairs=pairs,
        unit_hash=_HASH.format(id="pairs.unit"),
        item_hash=_HASH.format(id="pairs.item"),
        bound=task.max_items_per_unit,
        prime=_PRIME,
    )


def likes(task: LikesTask, dialect: str, *, rated_in_text: bool) -> str:
    """Return the SELECT of the likes of a task in a dialect, "duckdb", "postgres" or "spark", with
    stand-ins that `carried` replaces and the parameter $keys, and with a cap $secret: a row for
    each person, the places of their likes, from 0 in the order of the keys; or, from an engine that
    pairs them (Spark), a row for each item, its place, and the others' places with the sums of
    weights of the pairs.

    A rating is compared in its own type, which no value makes fail; a cast of 1e400 might.
    """
    from askew.mechanisms.covariance import UNIT  # brings numpy

    kept = _LIKES.format(
        places=_PLACES,
        rating="rating[e.rating_column]" if rated_in_text else "e.rating_column",
        least=_literal(task.least),
        most=_literal(task.most),
    )
    if task.max_items_per_unit is not None:
        kept = _SOME_LIKES.format(
            likes=kept,
            unit_hash=_HASH.format(id="likes.unit"),
            place_hash=_HASH.format(id="likes.place"),
            bound=task.max_items_per_unit,
            prime=_PRIME,
        )
    if DIALECTS[dialect].pairs_likes:
        return _PAIRS_OF_ITEMS.format(likes=kept, unit=UNIT)
    return _LIKES_OF_PEOPLE.format(likes=kept)


def _literal(number: float) -> str:
    # DuckDB and Spark take "3.5e0" for a DOUBLE; beside DECIMAL, large values would fail.
    text = repr(float(number))
    return text if "e" in text else f"{text}e0"


# An innermost word[...].
_WORD = re.compile(r"\b(bytewise|text|number|rating|lines|joined)\[([^\[\]]*)\]")
_STAND_IN = re.compile(
    r"\b(?P<table>\w+_table)\b|(?P<of>\b[ec]\.)(?P<column>\w+_column)\b|\$(?P<parameter>\w+)"
)


def carried(statement: str, names: Mapping[str, str], dialect: str) -> str:
    """Return a statement in an engine's dialect, "duckdb", "postgres" or "spark", with parameters
    as the engine writes them. names: the quoted SQL that takes the place of each stand-in, such as
    {"events_table": '"log"'}. Raises KeyError for a stand-in without a name.
    """
    words = DIALECTS[dialect]
    while _WORD.search(statement):
        statement = _WORD.sub(
            lambda word: getattr(words, word[1]).replace("{}", word[2]), statement
        )
    parameters = sorted(set(re.findall(r"\$(\w+)", statement)))

    def name(stand_in: re.Match[str]) -> str:
        if parameter := stand_in["parameter"]:
            number = parameters.index(parameter) + 1
            return words.parameter.format(name=parameter, number=number)
        return (stand_in["of"] or "") + names[stand_in["table"] or stand_in["column"]]

    # Names come last and at once: none of them is looked at again, whatever it holds.
    return _STAND_IN.sub(name, statement)


def no_rows(table: tuple[str, ...], dialect: str) -> str:
    """Return an SQL statement that gives all columns of a table and none of its rows: SELECT * FROM
    "log" AS e LIMIT 0.
    """
    return carried(_NO_ROWS, {"events_table": DIALECTS[dialect].quoted(*table)}, dialect)

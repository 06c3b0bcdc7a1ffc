"""The SQL of counting: written once, in DuckDB's dialect, and carried to the others by SQLGlot.

Units with more than Delta items are few in most logs, so only these are ordered: everybody is
counted, and what their units may not keep is taken off again. The first unit is ordered with them,
whatever it has, and loses nothing that it may keep: where there are none, an engine leaves out the
join of all pairs, and the time would tell whether one person has one item more than the bound.

The order within a unit is hash(unit) * hash(item) modulo a prime, then the item, where the hash is
MD5 under the secret, which every dialect has. Each id is hashed once, not each pair, and the sort
sees numbers instead of text. The order spreads the choice evenly, no more: privacy needs only that
it looks at one unit's own items. Two units may have one hash; their `twin` number keeps them apart,
so that the bound holds for every key.

All of that looks at the pairs several times, and what is taken off must be what was counted. So it
is for engines that keep the pairs (MATERIALIZED). Spark and ClickHouse read the events anew each
time, and a log may grow in between: they are given the definition, which looks once.

Ids stay in the types of their columns, which is faster, until they are hashed and returned as text.

Likes come back in rows of text, each of many numbers: millions of rows would cost a driver far more
than their numbers do. An engine on this machine gives a row for each person. Another one pairs each
person's likes itself and adds up the pairs, and gives a row for each item. It makes one array of a
person's likes first, and both sides of a pair are taken from this array: two looks at a log that
grows could weigh one person's likes by the number of another look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp, parse_one

from askew_server.counting.contract import CountingTask, LikesTask

# Stand-ins for what a task names; `carried` puts the quoted identifiers in their places.
_CATALOG = """
SELECT DISTINCT CAST(c.catalog_item_column AS TEXT) COLLATE "C" AS item
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
{_PAIRS} AND CAST(e.item_column AS TEXT) COLLATE "C" IN ({_CATALOG})
"""
# 28 bits, so that the product of two is a BIGINT. `carried` writes it as each dialect does.
_HASH = "CAST('0x' || LEFT(MD5($secret || CAST({id} AS TEXT)), 7) AS BIGINT)"
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
SELECT CAST(items.item AS TEXT) COLLATE "C" AS item, items.n - COALESCE(dropped.n, 0) AS n
FROM items LEFT JOIN dropped ON dropped.item = items.item
WHERE items.n > COALESCE(dropped.n, 0)
"""
_COUNTS_AT_ONE_LOOK = """
SELECT CAST(placed.item AS TEXT) COLLATE "C" AS item, COUNT(*) AS n
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
SELECT CAST(pairs.item AS TEXT) COLLATE "C" AS item, COUNT(*) AS n
FROM ({pairs}) AS pairs GROUP BY pairs.item
"""
_KEEP_PAIRS = ("duckdb", "postgres")
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
CATALOG_SIZE = """
SELECT COUNT(*) - COUNT(c.catalog_item_column),
  COUNT(DISTINCT CAST(c.catalog_item_column AS TEXT) COLLATE "C")
FROM catalog_table AS c
"""

# The catalog's keys come as one parameter: they are no table of the engine, and never SQL text.
_PLACES = """
SELECT listed.item AS item, ROW_NUMBER() OVER (ORDER BY listed.item COLLATE "C") - 1 AS place
FROM (SELECT listed_items($keys) AS item) AS listed
"""
COUNT_PLACES = """
SELECT COUNT(*) FROM (SELECT listed_items($keys) AS item) AS listed
"""
_LIKES = """
SELECT DISTINCT e.unit_column AS unit, places.place AS place
FROM events_table AS e
JOIN ({places}) AS places ON CAST(e.item_column AS TEXT) COLLATE "C" = places.item
WHERE e.unit_column IS NOT NULL
  AND TRY_CAST(e.rating_column AS DOUBLE) BETWEEN {least} AND {most}
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
SELECT joined_text(CAST(kept.place AS TEXT)) AS likes FROM ({likes}) AS kept GROUP BY kept.unit
"""
_PAIRS_OF_ITEMS = """
SELECT pairs.one AS place, joined_text(CONCAT(CAST(pairs.other AS TEXT), ' ', pairs.sum)) AS row
FROM (
  SELECT sides.one AS one, sides.other AS other, CAST(SUM(sides.weight) AS TEXT) AS sum
  FROM (
    SELECT firsts.one AS one, UNNEST(firsts.places) AS other, firsts.weight AS weight
    FROM (
      SELECT UNNEST(people.places) AS one, people.places AS places,
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
ON_THIS_MACHINE = ("duckdb", "postgres")
"""Engines whose driver pairs likes: its product of sparse matrices is far faster than a join."""


@dataclass(frozen=True)
class Names:
    """What takes the places of the stand-ins; texts are those columns that hold text."""

    tables: Mapping[str, tuple[str, ...]]
    columns: Mapping[str, str]
    texts: frozenset[str]


def counting(task: CountingTask, dialect: str) -> str:
    """What a task asks of an engine, still in DuckDB's dialect, with stand-ins and, where there is
    a bound, $secret.
    """
    counts = _counts(task, dialect)
    if task.catalog is None:
        return _TOP.format(counts=counts, limit=task.limit)
    return _WHOLE_CATALOG.format(counts=counts, catalog=_CATALOG)


def _counts(task: CountingTask, dialect: str) -> str:
    pairs = _PAIRS if task.catalog is None else _PAIRS_OF_CATALOG
    if task.max_items_per_unit is None:
        return _ALL_COUNTS.format(pairs=pairs)
    return (_COUNTS if dialect in _KEEP_PAIRS else _COUNTS_AT_ONE_LOOK).format(
        pairs=pairs,
        unit_hash=_HASH.format(id="pairs.unit"),
        item_hash=_HASH.format(id="pairs.item"),
        bound=task.max_items_per_unit,
        prime=_PRIME,
    )


def likes(task: LikesTask, dialect: str) -> str:
    """The likes of each person, as places in the order of the keys; or, from engines that are not
    in `ON_THIS_MACHINE`, the sums of weights of each item's pairs.
    """
    from askew.mechanisms.covariance import UNIT  # brings numpy

    kept = _LIKES.format(places=_PLACES, least=task.least, most=task.most)
    if task.max_items_per_unit is not None:
        kept = _SOME_LIKES.format(
            likes=kept,
            unit_hash=_HASH.format(id="likes.unit"),
            place_hash=_HASH.format(id="likes.place"),
            bound=task.max_items_per_unit,
            prime=_PRIME,
        )
    if dialect in ON_THIS_MACHINE:
        return _LIKES_OF_PEOPLE.format(likes=kept)
    return _PAIRS_OF_ITEMS.format(likes=kept, unit=UNIT)


def carried(statement: str, names: Names, dialect: str) -> str:
    """A statement with the names in place of the stand-ins, quoted, in an engine's dialect."""

    def carry(node: exp.Expr) -> exp.Expr:
        match node:
            case exp.Table(name=stand_in) if stand_in in names.tables:
                return exp.alias_(quoted_table(names.tables[stand_in]), node.alias, table=True)
            case exp.Column(name=stand_in) if stand_in in names.columns:
                column = exp.column(_quoted(names.columns[stand_in]), table=node.table)
                return _as_bytes(column) if stand_in in names.texts else column
            case exp.Placeholder():
                return _parameter(node.name, names_of_parameters, dialect)
            case exp.Cast(this=exp.DPipe(this=exp.Literal(name="0x"), expression=digits)):
                return _written("number", digits.transform(carry), dialect)
            case exp.Anonymous(name=function) if function in _WRITTEN:
                return _written(function, node.expressions[0].transform(carry), dialect)
        return node

    parsed = parse_one(statement, read="duckdb")
    names_of_parameters = sorted({each.name for each in parsed.find_all(exp.Placeholder)})
    tree = parsed.transform(carry)
    _collate(tree, dialect)
    return tree.sql(dialect=dialect, pretty=True)


def quoted_table(parts: tuple[str, ...]) -> exp.Table:
    """A table by its identifiers, which are taken as they are."""
    fields = zip(("this", "db", "catalog"), map(_quoted, reversed(parts)), strict=False)
    return exp.Table(**dict(fields))


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def _as_bytes(text: exp.Expr) -> exp.Collate:
    return exp.Collate(this=text, expression=_quoted("C"))


def _collate(tree: exp.Expr, dialect: str) -> None:
    """Comparison by bytes, as each engine calls it; ClickHouse knows no other."""
    for text in list(tree.find_all(exp.Collate)):
        if dialect == "spark":
            text.set("expression", exp.var("UTF8_BINARY"))
        elif dialect == "clickhouse":
            text.replace(text.this)


def _parameter(name: str, names: Sequence[str], dialect: str) -> exp.Expr:
    """A parameter as each driver sends it, apart from the text; PostgreSQL numbers them in the
    order of their names.
    """
    match dialect:
        case "postgres":
            number = exp.Literal.number(names.index(name) + 1)
            return exp.cast(exp.Parameter(this=number), "text")
        case "clickhouse":
            return exp.Placeholder(this=name, kind="String")
    return exp.Placeholder(this=name)


# What SQLGlot does not carry: seven hexadecimal digits as a BIGINT, the lines of a text as rows,
# and texts as one.
_WRITTEN = {
    "number": {
        "duckdb": "CAST('0x' || :given AS BIGINT)",
        "postgres": "CAST(CAST('x' || :given AS BIT(28)) AS BIGINT)",
        "spark": "CAST(CONV(:given, 16, 10) AS BIGINT)",
        "clickhouse": "reinterpretAsInt64(reverse(unhex(concat('0', :given))))",
    },
    "listed_items": {
        "duckdb": "UNNEST(STRING_SPLIT(:given, CHR(10)))",
        "postgres": "UNNEST(STRING_TO_ARRAY(:given, CHR(10)))",
        "spark": "EXPLODE(SPLIT(:given, CHR(10)))",
        "clickhouse": "arrayJoin(splitByChar(char(10), :given))",
    },
    "joined_text": {
        "duckdb": "STRING_AGG(:given, ' ')",
        "postgres": "STRING_AGG(:given, ' ')",
        "spark": "ARRAY_JOIN(COLLECT_LIST(:given), ' ')",
        "clickhouse": "arrayStringConcat(groupArray(:given), ' ')",
    },
}


def _written(what: str, given: exp.Expr, dialect: str) -> exp.Expr:
    return exp.replace_placeholders(parse_one(_WRITTEN[what][dialect], read=dialect), given=given)

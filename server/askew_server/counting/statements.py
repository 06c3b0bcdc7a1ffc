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
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp, parse_one

from askew_server.counting.contract import CountingTask

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
MISSING_IDS = """
SELECT COUNT(*) FROM events_table AS e WHERE e.unit_column IS NULL OR e.item_column IS NULL
"""
CATALOG_SIZE = """
SELECT COUNT(*) - COUNT(c.catalog_item_column),
  COUNT(DISTINCT CAST(c.catalog_item_column AS TEXT) COLLATE "C")
FROM catalog_table AS c
"""


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
                return _parameter(node.name, dialect)
            case exp.Cast(this=exp.DPipe(this=exp.Literal(name="0x"), expression=digits)):
                return _number(digits.transform(carry), dialect)
        return node

    tree = parse_one(statement, read="duckdb").transform(carry)
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


def _parameter(name: str, dialect: str) -> exp.Expr:
    """A parameter as each driver sends it, apart from the text. No statement has more than one."""
    match dialect:
        case "postgres":
            return exp.cast(exp.Parameter(this=exp.Literal.number(1)), "text")
        case "clickhouse":
            return exp.Placeholder(this=name, kind="String")
    return exp.Placeholder(this=name)


def _number(digits: exp.Expr, dialect: str) -> exp.Expr:
    """Seven hexadecimal digits as a BIGINT."""
    written = {
        "duckdb": "CAST('0x' || :digits AS BIGINT)",
        "postgres": "CAST(CAST('x' || :digits AS BIT(28)) AS BIGINT)",
        "spark": "CAST(CONV(:digits, 16, 10) AS BIGINT)",
        "clickhouse": "reinterpretAsInt64(reverse(unhex(concat('0', :digits))))",
    }
    number = parse_one(written[dialect], read=dialect)
    return exp.replace_placeholders(number, digits=digits)

"""The SQL of counting: written once, in DuckDB's dialect, and carried to the others by SQLGlot.

The order that bounds contributions is MD5(secret, unit, item); every dialect has MD5. Hashes are
compared within one unit only, so what lies before the item is the same for all of them, and no two
items look alike without a separator. The hash spreads the choice evenly, no more: privacy needs
only that it looks at one unit's own items. Its first 48 bits decide, then the item, because DuckDB
keeps twelve characters inside its sort keys: the whole hash would cost a fifth more.

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
_PAIRS_OF_CATALOG = f"""
{_PAIRS} AND CAST(e.item_column AS TEXT) COLLATE "C" IN ({_CATALOG})
"""
_COUNTS = """
SELECT CAST(placed.item AS TEXT) COLLATE "C" AS item, COUNT(*) AS n
FROM (
  SELECT pairs.item AS item, ROW_NUMBER() OVER (
    PARTITION BY pairs.unit
    ORDER BY
      LEFT(MD5($secret || CAST(pairs.unit AS TEXT) || CAST(pairs.item AS TEXT)), 12), pairs.item
  ) AS place
  FROM ({pairs}) AS pairs
) AS placed
WHERE placed.place <= {bound}
GROUP BY placed.item
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
MISSING_IN_EVENTS = """
SELECT COUNT(*) - COUNT(e.unit_column), COUNT(*) - COUNT(e.item_column) FROM events_table AS e
"""
MISSING_IN_CATALOG = """
SELECT COUNT(*) - COUNT(c.catalog_item_column) FROM catalog_table AS c
"""


@dataclass(frozen=True)
class Names:
    """What takes the places of the stand-ins; texts are those columns that hold text."""

    tables: Mapping[str, tuple[str, ...]]
    columns: Mapping[str, str]
    texts: frozenset[str]


def counting(task: CountingTask) -> str:
    """The statement that a task asks for, in DuckDB's dialect, with stand-ins and $secret."""
    bound = task.bound.max_items_per_unit
    if task.catalog is None:
        counts = _COUNTS.format(pairs=_PAIRS, bound=bound)
        return _TOP.format(counts=counts, limit=task.limit)
    counts = _COUNTS.format(pairs=_PAIRS_OF_CATALOG, bound=bound)
    return _WHOLE_CATALOG.format(counts=counts, catalog=_CATALOG)


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

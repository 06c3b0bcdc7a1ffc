"""The words in which three dialects of SQL differ, and the types of columns that may be counted.

Types are written as an engine names them, in small letters, without length. Only what stands here
is counted: `char(n)` is padded with spaces, `oid`, `citext`, enums, bits and a type that somebody
defined compare or print in ways of their own, which would make two items one or one item two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """What one engine writes where others write something else. "{}" is what a word is given.

    bytewise   compare a text by its bytes.
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
        """Return an identifier of one or several parts, each in quotes with its own quotes doubled,
        with dots between them.
        """
        return ".".join(
            self.quote + name.replace(self.quote, 2 * self.quote) + self.quote for name in names
        )

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

"""Attributes as columns of a file: declared or guessed kinds, and their values in SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import duckdb

from askew.errors import ParameterError
from askew.listing import MAX_HOURS, Attribute, AttributeKind
from askew.plain_text import MAX_MARKS, MAX_TEXT, is_mark

_TRUE, _FALSE = "('true', 'yes', 't', 'y', '1')", "('false', 'no', 'f', 'n', '0')"
_FLAG_WORDS = "('true', 'yes', 't', 'y', 'false', 'no', 'f', 'n')"
_HOURS = r"'.*\b[0-2]?[0-9]:[0-5][0-9]\b.*|24/7'"
_MOST = 0.9  # of the values that are there make a guess


@dataclass(frozen=True)
class AttributeOption:
    """A column that becomes an attribute, as an operator names it; the kind may be left to us."""

    name: str
    kind: AttributeKind | None = None
    unit: str = ""
    live: bool = False

    @classmethod
    def parsed(cls, text: str, *, live: bool = False) -> AttributeOption:
        """The option "NAME", "NAME=KIND" or "NAME=KIND:UNIT". Raises ParameterError."""
        name, _, rest = text.partition("=")
        kind, _, unit = rest.partition(":")
        if not name or (kind and kind not in list(AttributeKind)):
            limit = f"NAME, NAME=KIND or NAME=KIND:UNIT with a kind of {', '.join(AttributeKind)}"
            raise ParameterError("live" if live else "attribute", text, limit)
        return cls(name, AttributeKind(kind) if kind else None, unit, live)

    def attribute(self, kind: AttributeKind) -> Attribute:
        """The attribute that it becomes. Raises OutOfRange for a name that is no plain text."""
        return Attribute(self.name, kind, self.live, self.unit)


@cache
def printable() -> str:
    """A regular expression of the texts that this Python calls printable, for DuckDB.

    DuckDB's own classes know other characters than Python's, and no reply may carry one that the
    core refuses.
    """
    return _any_of(str.isprintable) + "+"


@cache
def _too_many_marks() -> str:
    """The same of what `askew.plain_text.has_few_marks` refuses."""
    return f"{_any_of(is_mark)}{{{MAX_MARKS + 1}}}"


def _any_of(kind: Callable[[str], bool]) -> str:
    edges, before = [], False
    for code in range(0x110000):
        if (found := kind(chr(code))) is not before:
            edges.append(code if found else code - 1)
            before = found
    spans = zip(edges[::2], edges[1::2], strict=True)
    return "[" + "".join([f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in spans]) + "]"


def plain(text: str) -> str:
    """SQL: the text with every kind of space as a plain one, NULL where it is empty."""
    spaces = f"regexp_replace({text}, '\\p{{Zs}}', ' ', 'g')"
    return (
        f"nullif(trim(CASE WHEN strlen({text}) = length({text}) THEN {text} ELSE {spaces} END), '')"
    )


def is_plain(text: str, longest: int = MAX_TEXT) -> str:
    """SQL: whether a text is one that a reply may carry."""
    shown = f"regexp_full_match({text}, '{printable()}')"
    return f"(length({text}) <= {longest} AND {shown} AND {has_few_marks(text)})"


def has_few_marks(text: str) -> str:
    """SQL: whether a text has few combining marks in a row; most have none."""
    return f"(strlen({text}) = length({text}) OR NOT regexp_matches({text}, '{_too_many_marks()}'))"


def value(kind: AttributeKind, text: str) -> str:
    """SQL: the typed value of a plain text, NULL where it is none."""
    match kind:
        case AttributeKind.NUMBER:
            number = f"TRY_CAST({text} AS FLOAT)"
            fits = f"isfinite({number}) AND NOT contains({text}, '_')"
            return f"CASE WHEN {fits} THEN {number} END"
        case AttributeKind.FLAG:
            low = f"lower({text})"
            return f"CASE WHEN {low} IN {_TRUE} THEN true WHEN {low} IN {_FALSE} THEN false END"
        case AttributeKind.HOURS:
            return f"CASE WHEN {is_plain(text, MAX_HOURS)} THEN {text} END"
        case _:
            return f"CASE WHEN {is_plain(text)} THEN {text} END"


def guess(connection: duckdb.DuckDBPyConnection, text: str, relation: str) -> AttributeKind:
    """What nine in ten of the values of a column look like; a category where nothing else."""
    shares = (
        (AttributeKind.FLAG, f"lower({text}) IN {_FLAG_WORDS}"),
        (AttributeKind.NUMBER, f"({value(AttributeKind.NUMBER, text)}) IS NOT NULL"),
        (AttributeKind.HOURS, f"regexp_full_match({text}, {_HOURS})"),
    )
    counts = ", ".join([f"coalesce(avg(CAST({like} AS INTEGER)), 0)" for _, like in shares])
    query = f"SELECT {counts} FROM {relation} WHERE {text} IS NOT NULL"
    row = connection.execute(query).fetchone() or ()
    likely = [kind for (kind, _), share in zip(shares, row, strict=True) if share >= _MOST]
    return likely[0] if likely else AttributeKind.CATEGORY

"""Which columns of a file become what, and what makes a row of them bad."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from askew.errors import DataError
from askew.listing import MAX_ATTRIBUTES, MAX_HOURS, Attribute, AttributeKind
from askew.metric.map_space import MetricSpace
from askew.plain_text import FEW_MARKS, MAX_TEXT
from askew_server.collections.attribute_columns import (
    AttributeOption,
    guess,
    has_few_marks,
    is_plain,
    plain,
    value,
)
from askew_server.collections.intake import Field
from askew_server.collections.model import MOST_PEOPLE
from askew_server.collections.rows import Rows
from askew_server.collections.spaces import column_names

_KEY = ("key", "id")
_TITLE = ("title", "name")
_PEOPLE = ("population", "people")
_KEY_LIMIT = 200
_GUESSED_FROM = 10_000  # rows
_Columns = list[tuple[Attribute, str | None]]


class Layout:
    """Fields that a reader asks of the rows of a file, one method a role."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.texts: list[tuple[str, str]] = []
        self.fields: list[Field] = []

    @property
    def unused(self) -> tuple[str, ...]:
        """Columns of the file that nobody asked for."""
        used = {column for _, column in self.texts}
        return tuple([name for name in self.rows.columns if name not in used])

    def has_key(self) -> bool:
        """Asks for a key, if the file has one."""
        column = self.rows.first_of(_KEY)
        if column is not None:
            self._ask("key", column)
            self._add("key", "key", "key IS NULL", f"its {column} is empty")
            long = f"its {column} is longer than {_KEY_LIMIT} characters"
            self._add(None, "", f"length(key) > {_KEY_LIMIT}", long)
        return column is not None

    def key(self) -> None:
        """Asks for a key. Raises DataError where there is none."""
        self._found(_KEY)
        self.has_key()

    def title(self) -> None:
        """Asks for a title."""
        column = self._found(_TITLE)
        self._ask("title", column)
        self._add("title", "title", "title IS NULL", f"its {column} is empty")
        long = f"its {column} is longer than {MAX_TEXT} characters"
        self._add(None, "", f"length(title) > {MAX_TEXT}", long)
        self._add(None, "", f"NOT {has_few_marks('title')}", f"its {column} is no {FEW_MARKS}")
        odd = f"its {column} has control characters, or some that are invisible"
        self._add(None, "", f"NOT {is_plain('title')}", odd)

    def coordinates(self, space: MetricSpace) -> tuple[str, ...]:
        """Asks for a number of each axis, or latitude and longitude; gives their names."""
        names = [self._number(f"x{at}", each) for at, each in enumerate(column_names(space))]
        return tuple(names)

    def people(self) -> None:
        """Asks for a number of people."""
        column = self._found(_PEOPLE)
        name = self._number("people", _PEOPLE)
        number = f"TRY_CAST({name} AS DOUBLE)"
        fault = f"({number} <= 0 OR {number} > {MOST_PEOPLE})"
        self._add(None, "", fault, f"its {column} is not above 0, or above {MOST_PEOPLE:g}")

    def attributes(
        self,
        options: Sequence[AttributeOption],
        connection: duckdb.DuckDBPyConnection,
        *,
        only_present: bool = False,
    ) -> _Columns:
        """Asks for the columns of these options that the file has; a live one of a declared kind
        may also be unknown at first, unless only what is present counts. Raises DataError.
        """
        found: _Columns = []
        for option in options:
            name = f"a{len(found)}"
            if option.name in self.rows.columns:
                kind = option.kind or self._guess(option.name, connection)
                self._attribute(name, option.name, kind)
                found.append((option.attribute(kind), name))
            elif option.live and option.kind and not only_present:
                found.append((option.attribute(option.kind), None))
        if len(found) > MAX_ATTRIBUTES:
            raise DataError(f"{self.rows.path}: at most {MAX_ATTRIBUTES} attributes are shown")
        return found

    def _attribute(self, name: str, column: str, kind: AttributeKind) -> None:
        self._ask(name, column)
        typed = value(kind, name)
        bad = f"{name} IS NOT NULL AND ({typed}) IS NULL"
        long = f" of at most {MAX_HOURS} characters" if kind is AttributeKind.HOURS else ""
        self._add(name, typed, bad, f"its {column} is no {kind}{long}")

    def _guess(self, column: str, connection: duckdb.DuckDBPyConnection) -> AttributeKind:
        text = f"SELECT {self.rows.field(column)} AS v FROM {self.rows.relation}"
        sample = f"(SELECT {plain('v')} AS v FROM ({text} LIMIT {_GUESSED_FROM}))"
        return guess(connection, "v", sample)

    def _number(self, name: str, columns: tuple[str, ...]) -> str:
        column = self._found(columns)
        self._ask(name, column)
        number = f"TRY_CAST({name} AS DOUBLE)"
        fits = f"coalesce(isfinite({number}) AND NOT contains({name}, '_'), false)"
        self._add(name, number, f"NOT {fits}", f"its {column} is no finite number")
        return name

    def _found(self, names: tuple[str, ...]) -> str:
        column = self.rows.first_of(names)
        if column is None:
            has = ", ".join(self.rows.columns)
            raise DataError(f"{self.rows.path}: no column {' or '.join(names)}; it has {has}")
        return column

    def _ask(self, name: str, column: str) -> None:
        self.texts.append((name, column))

    def _add(self, name: str | None, sql: str, fault: str, reason: str) -> None:
        self.fields.append(Field(name, sql, fault, reason))

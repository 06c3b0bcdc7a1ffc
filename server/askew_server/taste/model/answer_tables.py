"""Answers made beforehand: for a lattice and a k that the card names, one answer to each cell.

Only the rule `posterior` has them, whose answer takes milliseconds.

Guarantee: the answer from a table depends on the cell, which depends on the signal, so it is
post-processing of the signal, as every answer is: free of charge. A table is complete before the
first question, and the same in every process: whether a cell was asked before changes nothing.

A signal z (d,), in steps of its lattice, is clamped into the box [0, w]**d and goes to the nearest
of n**d nodes: c_j = floor(z_j (n - 1) / w + 1/2), w = unit / step. Nodes lie on the edges of the
box too, because a clamped signal lies there. All in integers: no machine rounds another way.
Clamping loses nothing: nobody's point is outside the box, so beyond it a coordinate makes
everybody's likelihood smaller by one and the same factor. Complexity: O(d) for a signal.

A saved model has the tables in a file of their own. The file names the space and the catalog that
its answers are from, so that a table of another model is found out even under digests that fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from askew.errors import ArtifactError, OutOfRange, ParameterError
from askew.noise.lattice import COORDINATE_LIMIT, LatticeLaplace
from askew.protocol.model_card import ModelCard
from askew.spaces.encoder import Encoder
from askew_server.taste.model.directory import (
    ArrayKind,
    Arrays,
    Count,
    Strict,
    decode_arrays,
    encode_arrays,
)

MOST_CELLS = 1 << 14
MOST_TABLES = 1 << 10


@dataclass(frozen=True)
class Cells:
    """The cells of all signals of one lattice: cell of z = floor((slope z + offset) / divisor) on
    each axis, at least 0 and below `per_axis`; the last axis counts first.
    """

    axes: int
    per_axis: int
    slope: int
    offset: int
    divisor: int

    @classmethod
    def of(cls, lattice: LatticeLaplace, encoder: Encoder, per_axis: int) -> Cells:
        """The nearest of the nodes of a grid on the box. Raises OutOfRange for too few or many."""
        d, steps = encoder.dimension, Fraction(encoder.unit) * (1 << lattice.step_exponent)
        if per_axis < 2 or per_axis**d > MOST_CELLS:
            raise OutOfRange("the cells of a table", f"from 2 on each axis to {MOST_CELLS} in all")
        nodes = (per_axis - 1) / steps  # a step
        divisor = 2 * nodes.denominator
        return cls(d, per_axis, 2 * nodes.numerator, divisor // 2, divisor)

    def __len__(self) -> int:
        return int(self.per_axis**self.axes)

    def find(self, values: Sequence[int]) -> int:
        """The cell of a signal; -1 for what is none. Every signal has one."""
        if len(values) != self.axes:
            return -1
        cell, last = 0, self.per_axis - 1
        for value in values:
            if not -COORDINATE_LIMIT <= value <= COORDINATE_LIMIT:
                return -1
            at = (self.slope * value + self.offset) // self.divisor
            cell = cell * self.per_axis + (0 if at < 0 else min(last, at))
        return cell

    def center(self, cell: int) -> tuple[int, ...]:
        """The signal that a cell is answered as: the lattice point nearest its node."""
        values = []
        for _ in range(self.axes):
            cell, at = divmod(cell, self.per_axis)
            values.append((2 * at * self.divisor + self.slope) // (2 * self.slope))
        return tuple(reversed(values))


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """The answers to signals of one lattice: k, the cells, the number of each cell's slate (cells,)
    and the slates (n, k): item ids, ascending. Raises OutOfRange for parts that do not fit
    together.
    """

    lattice: LatticeLaplace
    k: int
    cells: Cells
    numbers: NDArray[np.int32] = field(repr=False)
    slates: NDArray[np.int32] = field(repr=False)

    def __post_init__(self) -> None:
        n = len(self.slates)
        if self.slates.shape != (n, self.k) or not 1 <= n <= len(self.cells):
            raise OutOfRange("the slates of a table", f"of {self.k} items, at most one a cell")
        if self.numbers.shape != (len(self.cells),) or not _used(self.numbers, n):
            raise OutOfRange("the cells of a table", "numbers of slates, and each slate used")
        if not (np.diff(self.slates, axis=1) > 0).all():
            raise OutOfRange("the items of a tabulated slate", "distinct and ascending")


def _used(numbers: NDArray[np.int32], n: int) -> bool:
    return np.array_equal(np.unique(numbers), np.arange(n))


@dataclass(frozen=True, eq=False)
class AnswerTables:
    """All tables of a model, and the space and the catalog that they answer from.

    Raises OutOfRange for two tables of one lattice and one k.
    """

    space_version: str
    catalog_version: str
    tables: tuple[AnswerTable, ...] = field(repr=False)

    def __post_init__(self) -> None:
        keys = {(each.lattice, each.k) for each in self.tables}
        if len(keys) != len(self.tables) or len(keys) > MOST_TABLES:
            raise OutOfRange("the tables of a model", f"at most {MOST_TABLES}, one a lattice and k")

    def fits(self, card: ModelCard) -> bool:
        """Whether they answer from this card's space and catalog."""
        return (self.space_version, self.catalog_version) == (
            card.space.version,
            card.catalog_version,
        )

    def check(self, card: ModelCard) -> None:
        """Raises OutOfRange, or as `Signal.check`, for tables that no server with this card could
        have made: of another space or catalog, or with answers that it does not give.
        """
        if not self.fits(card):
            raise OutOfRange("the tables of a model", "of its own space and catalog")
        for each in self.tables:
            _check_answers(each, card)


def _check_answers(table: AnswerTable, card: ModelCard) -> None:
    if not 1 <= table.k <= card.max_slate_size:
        raise OutOfRange("the k of a table", f"from 1 to {card.max_slate_size}")
    if table.cells != Cells.of(table.lattice, card.space.encoder, table.cells.per_axis):
        raise OutOfRange("the cells of a table", "those of its space")
    if table.slates.min() < card.n_held or table.slates.max() >= card.n_items:
        raise OutOfRange("a tabulated item", "of the catalog, and none that every device holds")


TABLES = "tables.safetensors"
LIMIT = 1 << 28  # bytes
_VERSIONS = "versions"


class TableFields(Strict, frozen=True):
    """One table of the file. per_axis: of its cells."""

    step_exponent: Count
    inverse_rate: Count
    k: Count
    per_axis: Annotated[int, Meta(ge=1, le=MOST_CELLS)]

    @classmethod
    def of(cls, table: AnswerTable) -> TableFields:
        """What a manifest says of a table."""
        lattice = table.lattice
        return cls(lattice.step_exponent, lattice.inverse_rate, table.k, table.cells.per_axis)

    def lattice(self) -> LatticeLaplace:
        """Raises OutOfRange."""
        try:
            return LatticeLaplace(self.step_exponent, self.inverse_rate)
        except ParameterError as error:
            raise OutOfRange(error.name, error.limit) from None


def encode_tables(tables: AnswerTables) -> bytes:
    """The file."""
    versions = bytes.fromhex(tables.space_version + tables.catalog_version)
    arrays: Arrays = {_VERSIONS: np.frombuffer(versions, dtype=np.uint8)}
    for place, each in enumerate(tables.tables):
        arrays |= dict(zip(_names(place), (each.numbers, each.slates), strict=True))
    return encode_arrays(arrays)


def decode_tables(data: bytes, fields: Sequence[TableFields], card: ModelCard) -> AnswerTables:
    """The tables of a file, of which a card says this. Raises ArtifactError, or OutOfRange, for
    anything that a server with this card could not have made.
    """
    kinds: dict[str, ArrayKind] = {_VERSIONS: (np.dtype(np.uint8), 1)}
    for place in range(len(fields)):
        numbers, slates = _names(place)
        kinds |= {numbers: (np.dtype(np.int32), 1), slates: (np.dtype(np.int32), 2)}
    arrays = decode_arrays(TABLES, data, kinds)
    versions = arrays[_VERSIONS].tobytes().hex()
    if len(versions) != 2 * len(card.space.version):
        raise ArtifactError(f"{TABLES} does not name a space and a catalog")
    space_version, catalog_version = versions[: len(versions) // 2], versions[len(versions) // 2 :]
    found = [_table(each, place, arrays, card) for place, each in enumerate(fields)]
    tables = AnswerTables(space_version, catalog_version, tuple(found))
    tables.check(card)
    return tables


def _table(fields: TableFields, place: int, arrays: Arrays, card: ModelCard) -> AnswerTable:
    lattice = fields.lattice()
    numbers, slates = (arrays[name] for name in _names(place))
    cells = Cells.of(lattice, card.space.encoder, fields.per_axis)
    return AnswerTable(lattice, fields.k, cells, numbers, slates)


def _names(place: int) -> tuple[str, str]:
    return f"numbers_{place}", f"slates_{place}"

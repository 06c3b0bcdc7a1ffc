"""Answers made beforehand: for a published way to ask, one answer to each cell of its signals.

Guarantee: the answer from a table depends on the cell, which depends on the signal, so it is
post-processing of the signal, as every answer is: free of charge. A table is complete before the
first question, and the same in every process: whether a cell was asked before changes nothing.

    buckets   a cell is a bucket
    points    a signal z (d,), in steps of its lattice, is clamped into the box [0, w]**d and goes
              to the nearest of n**d nodes: c_j = floor(z_j (n - 1) / w + 1/2), w = unit / step

Nodes lie on the edges of the box too, because a clamped signal lies there. All in integers: no
machine rounds another way. Clamping loses nothing: nobody's point is outside the box, so beyond it
a coordinate makes everybody's likelihood smaller by one and the same factor.

Complexity: O(d) for a signal.

Answer tables as a file of a saved model: what its card says of each, and their arrays.

The file names the space and the catalog that its answers are from, so that a table of another model
is found out even under digests that fit.
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
from askew.noise.randomized_response import ODDS_BITS, RandomizedResponse
from askew.protocol.model_card import ModelCard
from askew.protocol.signal import TasteMechanism
from askew.protocol.utility_table import MechanismName
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
    """The cells of all signals of one mechanism: cell of z = floor((slope z + offset) / divisor)
    on each axis, at least 0 and below `per_axis`; the last axis counts first. Signals have `axes`
    values from lowest to highest.
    """

    axes: int
    per_axis: int
    slope: int
    offset: int
    divisor: int
    lowest: int
    highest: int

    @classmethod
    def of_points(cls, lattice: LatticeLaplace, encoder: Encoder, per_axis: int) -> Cells:
        """The nearest of the nodes of a grid on the box. Raises OutOfRange for too few or many."""
        d, steps = encoder.dimension, Fraction(encoder.unit) * (1 << lattice.step_exponent)
        if per_axis < 2 or per_axis**d > MOST_CELLS:
            raise OutOfRange("the cells of a table", f"from 2 on each axis to {MOST_CELLS} in all")
        nodes = (per_axis - 1) / steps  # a step
        slope, divisor = 2 * nodes.numerator, 2 * nodes.denominator
        limit = COORDINATE_LIMIT
        return cls(d, per_axis, slope, divisor // 2, divisor, -limit, limit)

    @classmethod
    def of_buckets(cls, n_buckets: int) -> Cells:
        """A cell a bucket."""
        return cls(1, n_buckets, 1, 0, 1, 0, n_buckets - 1)

    def __len__(self) -> int:
        return int(self.per_axis**self.axes)

    def find(self, values: Sequence[int]) -> int:
        """The cell of a signal; -1 for what is none. Every signal has one."""
        if len(values) != self.axes:
            return -1
        cell, last = 0, self.per_axis - 1
        for value in values:
            if not self.lowest <= value <= self.highest:
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
    """The answers to one way to ask: the mechanism, k, the cells of its signals, the number of each
    cell's slate (cells,) and the slates (n, k): item ids, ascending. Raises OutOfRange for parts
    that do not fit together.
    """

    mechanism: TasteMechanism
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

    @property
    def key(self) -> tuple[TasteMechanism, int]:
        """The way to ask."""
        return self.mechanism, self.k


def _used(numbers: NDArray[np.int32], n: int) -> bool:
    return np.array_equal(np.unique(numbers), np.arange(n))


@dataclass(frozen=True, eq=False)
class AnswerTables:
    """All tables of a model, and the space and the catalog that they answer from.

    Raises OutOfRange for two tables of one way to ask.
    """

    space_version: str
    catalog_version: str
    tables: tuple[AnswerTable, ...] = field(repr=False)

    def __post_init__(self) -> None:
        keys = {each.key for each in self.tables}
        if len(keys) != len(self.tables) or len(keys) > MOST_TABLES:
            raise OutOfRange("the tables of a model", f"at most {MOST_TABLES}, one a way to ask")

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
    if table.cells != cells_of(table.mechanism, card, table.cells.per_axis):
        raise OutOfRange("the cells of a table", "those of its space")
    if table.slates.min() < card.n_held or table.slates.max() >= card.n_items:
        raise OutOfRange("a tabulated item", "of the catalog, and none that every device holds")


def cells_of(mechanism: TasteMechanism, card: ModelCard, per_axis: int) -> Cells:
    """The cells of a mechanism in a card's space; per_axis is given for points alone. Raises
    OutOfRange where there are no such.
    """
    space = card.space
    if isinstance(mechanism, RandomizedResponse):
        if mechanism.buckets != space.n_buckets:
            raise OutOfRange("the number of buckets", f"the feature space's, {space.n_buckets}")
        return Cells.of_buckets(mechanism.buckets)
    return Cells.of_points(mechanism, space.encoder, per_axis)


TABLES = "tables.safetensors"
LIMIT = 1 << 28  # bytes
_VERSIONS = "versions"


class TableFields(Strict, frozen=True):
    """One table of the file. numbers: of a lattice the step exponent and the inverse rate, of a
    response how many buckets and the odds times 2**32. per_axis: of its cells.
    """

    mechanism: MechanismName
    numbers: tuple[Count, Count]
    k: Count
    per_axis: Annotated[int, Meta(ge=1, le=MOST_CELLS)]

    @classmethod
    def of(cls, table: AnswerTable) -> TableFields:
        """What a card says of a table."""
        made, k, per_axis = table.mechanism, table.k, table.cells.per_axis
        if isinstance(made, LatticeLaplace):
            return cls("geo_laplace", (made.step_exponent, made.inverse_rate), k, per_axis)
        return cls("bucket_rr", (made.buckets, int(made.odds * 2**ODDS_BITS)), k, per_axis)

    def read(self) -> TasteMechanism:
        """The mechanism. Raises OutOfRange."""
        try:
            if self.mechanism == "geo_laplace":
                return LatticeLaplace(*self.numbers)
            buckets, odds = self.numbers
            return RandomizedResponse(buckets, Fraction(odds, 2**ODDS_BITS))
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
    mechanism = fields.read()
    cells = cells_of(mechanism, card, fields.per_axis)
    if cells.per_axis != fields.per_axis:
        raise OutOfRange("the cells of a table", "as many as there are buckets")
    numbers, slates = (arrays[name] for name in _names(place))
    return AnswerTable(mechanism, fields.k, cells, numbers, slates)


def _names(place: int) -> tuple[str, str]:
    return f"numbers_{place}", f"slates_{place}"

"""Answer tables as a file of a saved model: what its card says of each, and their arrays.

The file names the space and the catalog that its answers are from, so that a table of another model
is found out even under digests that fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated

import numpy as np
from msgspec import Meta

from askew.break_even import MechanismName
from askew.errors import ArtifactError, OutOfRange, ParameterError
from askew.lattice import Lattice
from askew.model_card import ModelCard
from askew.randomized_response import ODDS_BITS, RandomizedResponse
from askew.signal import TasteMechanism
from askew_server.model.answer_tables import MOST_CELLS, AnswerTable, AnswerTables, cells_of
from askew_server.model.arrays import ArrayKind, Arrays, decode_arrays, encode_arrays
from askew_server.model.signed_card import Count, Strict

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
        if isinstance(made, Lattice):
            return cls("geo_laplace", (made.step_exponent, made.inverse_rate), k, per_axis)
        return cls("bucket_rr", (made.buckets, int(made.odds * 2**ODDS_BITS)), k, per_axis)

    def read(self) -> TasteMechanism:
        """The mechanism. Raises OutOfRange."""
        try:
            if self.mechanism == "geo_laplace":
                return Lattice(*self.numbers)
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

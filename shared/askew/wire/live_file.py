"""The file of live values: those of every collection whose rows devices hold, the same for all.

    body = SHA-256 of the rows that they are of | each live column of each collection, in order

Five flags are one byte, the digits of a number to base 3: 0 unknown, 1 no, 2 yes, the first flag
the lowest digit. A number is a float32, little-endian; NaN is unknown. So the length says nothing
of the values, and a device knows it before it asks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from askew.catalog.attributes import Column, Flags, Numbers
from askew.catalog.catalog_file import HEAD_BYTES, OF_ROWS_BYTES, FileHead, file_of
from askew.catalog.item import AttributeKind
from askew.errors import Malformed, OutOfRange
from askew.protocol.collection import Collection
from askew.protocol.metric_card import MetricCard

_PLACES = 3 ** np.arange(5, dtype=np.uint8)  # of the digits of a byte
_MOST = 3**5 - 1


def live_to_bytes(card: MetricCard, collections: Mapping[str, Collection]) -> bytes | None:
    """Return the file; None where the card has no collection whose live values are in it."""
    parts = [_of_rows(card)]
    for each in card.in_live_file:
        columns = collections[each.name].columns
        for attribute, column in zip(each.attributes, columns, strict=True):
            if attribute.live and isinstance(column, Flags):
                parts.append(_packed(column.values))
            elif attribute.live and isinstance(column, Numbers):
                parts.append(column.values.astype("<f4").tobytes())
    return file_of(*parts) if card.in_live_file else None


def with_live_values(
    card: MetricCard, rows: Mapping[str, Collection], file: bytes
) -> Mapping[str, Collection]:
    """Return held rows of a card with the live values of a file.

    Raises Malformed for a file that is damaged, of another length, or of other rows.
    """
    head, body = FileHead.of(file), file[HEAD_BYTES:]
    head.check(body)
    if body[:OF_ROWS_BYTES] != _of_rows(card):
        raise Malformed("the live values are of other rows than those held here: ask again")
    sizes = [each.live_bytes or 0 for each in card.in_live_file]
    if len(body) != OF_ROWS_BYTES + sum(sizes):
        raise Malformed("the file of live values has not one value for each row")
    found, at = dict(rows), OF_ROWS_BYTES
    for each in card.in_live_file:
        columns: dict[str, Column] = {}
        for attribute in each.attributes:
            if not attribute.live:
                continue
            is_flag = attribute.kind is AttributeKind.FLAG
            size = -(-each.n_items // len(_PLACES)) if is_flag else 4 * each.n_items
            part, at = body[at : at + size], at + size
            columns[attribute.name] = (
                Flags(_unpacked(part, each.n_items))
                if is_flag
                else Numbers(np.frombuffer(part, "<f4").astype(np.float32))
            )
            try:
                columns[attribute.name].check(f"live values of {each.name}")
            except OutOfRange as error:
                raise Malformed(str(error)) from None
        if each.name in rows and len(rows[each.name]) == each.n_items:
            found[each.name] = rows[each.name].with_live(columns)
    return found


def _of_rows(card: MetricCard) -> bytes:
    """Return a digest of which rows, in which order, and which columns values are of."""
    said = [
        [each.number, each.version, each.n_items]
        + [[a.name, a.kind, a.unit] for a in each.attributes if a.live]
        for each in card.in_live_file
    ]
    return hashlib.sha256(json.dumps(said).encode()).digest()


def _packed(flags: NDArray[np.int8]) -> bytes:
    digits = np.zeros(-(-len(flags) // len(_PLACES)) * len(_PLACES), np.uint8)
    digits[: len(flags)] = flags + 1
    numbers: NDArray[np.uint8] = digits.reshape(-1, len(_PLACES)) @ _PLACES
    return numbers.tobytes()


def _unpacked(packed: bytes, n: int) -> NDArray[np.int8]:
    numbers = np.frombuffer(packed, np.uint8)
    if (numbers > _MOST).any():
        raise Malformed("live flags have a byte that is no five flags")
    digits = numbers[:, np.newaxis] // _PLACES % 3
    return digits.reshape(-1)[:n].astype(np.int8) - np.int8(1)

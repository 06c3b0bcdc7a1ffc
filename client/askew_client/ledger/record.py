"""A signal as the bytes that a store keeps, and back.

kind (1 byte: 1 lattice, 2 randomized response), two parameters, then the values; little-endian
lattice               step_exponent, inverse_rate (4 bytes each)
randomized response   buckets (4 bytes), odds * 2**32 (8 bytes)
values                4 bytes each, signed
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from fractions import Fraction

from askew.errors import AskewError, LedgerError
from askew.lattice import Lattice
from askew.randomized_response import ODDS_BITS, RandomizedResponse
from askew.signal import Mechanism, Signal

_LATTICE, _RESPONSE = struct.Struct("<BII"), struct.Struct("<BIQ")


@dataclass(frozen=True)
class Remembered:
    """A stored signal, whether it was drawn and charged just now, and what was spent by then."""

    signal: Signal
    fresh: bool
    spent: Fraction


def encode_signal(signal: Signal) -> bytes:
    """Everything but the space's version."""
    mechanism = signal.mechanism
    if isinstance(mechanism, Lattice):
        head = _LATTICE.pack(1, mechanism.step_exponent, mechanism.inverse_rate)
    else:
        head = _RESPONSE.pack(2, mechanism.buckets, int(mechanism.odds * 2**ODDS_BITS))
    return head + struct.pack(f"<{len(signal.values)}i", *signal.values)


def decode_signal(space_version: str, record: bytes) -> Signal:
    """The signal of a record. Raises LedgerError for anything else."""
    try:
        mechanism, values = _parts(record)
        return Signal(space_version, mechanism, struct.unpack(f"<{len(values) // 4}i", values))
    except (struct.error, AskewError):
        raise LedgerError("a stored signal is damaged; it is not sent and not redrawn") from None


def _parts(record: bytes) -> tuple[Mechanism, bytes]:
    match record[:1]:
        case b"\x01":
            _, step_exponent, inverse_rate = _LATTICE.unpack_from(record)
            return Lattice(step_exponent, inverse_rate), record[_LATTICE.size :]
        case b"\x02":
            _, buckets, odds = _RESPONSE.unpack_from(record)
            response = RandomizedResponse(buckets, Fraction(odds, 2**ODDS_BITS))
            return response, record[_RESPONSE.size :]
        case _:
            raise LedgerError("unknown kind of signal")

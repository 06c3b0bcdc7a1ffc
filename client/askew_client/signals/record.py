"""A signal as the bytes that a store keeps, and back.

kind (1 byte: 1 lattice, 2 randomized response, 3 map), parameters, then the values; little-endian
lattice               step_exponent, inverse_rate (4 bytes each)
randomized response   buckets (4 bytes), odds * 2**32 (8 bytes)
map                   step_exponent, inverse_rate, cosine (4 bytes each)
values                4 bytes each, signed
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from fractions import Fraction

from askew.dp.privacy import SignalCharge
from askew.errors import AskewError, LedgerError
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import ODDS_BITS, RandomizedResponse
from askew.protocol.signal import Mechanism, Signal
from askew.spaces.metric.map_noise import MapNoise
from askew_client.signals.chain import Entry

_LATTICE, _RESPONSE, _MAP = struct.Struct("<BII"), struct.Struct("<BIQ"), struct.Struct("<BIII")


@dataclass(frozen=True)
class Remembered:
    """A stored signal, whether it was drawn and charged just now, and what was spent by then of
    which lifetime cap.
    """

    signal: Signal
    fresh: bool
    spent: Fraction
    cap: Fraction = Fraction(0)


def encode_signal(signal: Signal) -> bytes:
    """Everything but the space's version."""
    mechanism = signal.mechanism
    match mechanism:
        case LatticeLaplace():
            head = _LATTICE.pack(1, mechanism.step_exponent, mechanism.inverse_rate)
        case RandomizedResponse():
            head = _RESPONSE.pack(2, mechanism.buckets, int(mechanism.odds * 2**ODDS_BITS))
        case MapNoise():
            lattice = mechanism.lattice
            head = _MAP.pack(3, lattice.step_exponent, lattice.inverse_rate, mechanism.cosine)
    return head + struct.pack(f"<{len(signal.values)}i", *signal.values)


def decode_signal(space_version: str, record: bytes) -> Signal:
    """The signal of a record. Raises LedgerError for anything else."""
    try:
        mechanism, values = _parts(record)
        return Signal(space_version, mechanism, struct.unpack(f"<{len(values) // 4}i", values))
    except (struct.error, AskewError):
        raise LedgerError("a stored signal is damaged; it is not sent and not redrawn") from None


def entry_of(  # noqa: PLR0913, PLR0917  # one argument a column
    kind: str, signal: Signal, slot: str, charge: SignalCharge, handle: str, salt: str
) -> Entry:
    """The entry of a signal and its charge."""
    return Entry(
        kind,
        signal.space_version,
        slot,
        charge.epsilon,
        charge.epsilon_per_distance,
        salt,
        encode_signal(signal),
        handle,
        charge.epsilon_per_km,
    )


def _parts(record: bytes) -> tuple[Mechanism, bytes]:
    match record[:1]:
        case b"\x01":
            _, step_exponent, inverse_rate = _LATTICE.unpack_from(record)
            return LatticeLaplace(step_exponent, inverse_rate), record[_LATTICE.size :]
        case b"\x02":
            _, buckets, odds = _RESPONSE.unpack_from(record)
            response = RandomizedResponse(buckets, Fraction(odds, 2**ODDS_BITS))
            return response, record[_RESPONSE.size :]
        case b"\x03":
            _, step_exponent, inverse_rate, cosine = _MAP.unpack_from(record)
            lattice = HexagonalLattice(step_exponent, inverse_rate)
            return MapNoise(lattice, cosine), record[_MAP.size :]
        case _:
            raise LedgerError("unknown kind of signal")

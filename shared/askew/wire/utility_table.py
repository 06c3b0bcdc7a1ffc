"""The utility table on the wire."""

from __future__ import annotations

from fractions import Fraction

from askew.dp.privacy import rational
from askew.errors import OutOfRange
from askew.protocol.utility_table import (
    MECHANISMS,
    MechanismName,
    ModeUtility,
    ServingMode,
    UtilityTable,
)
from askew.wire.v1 import retrieval_pb2 as pb


def utility_table_to_message(table: UtilityTable) -> pb.UtilityTable:
    """The table of a card."""
    return pb.UtilityTable(rows=map(_row_to_message, table.rows), proposed=table.proposed)


def utility_table_from_message(message: pb.UtilityTable) -> UtilityTable:
    """Raises OutOfRange or Malformed, as the table itself."""
    return UtilityTable(tuple(map(_row_from_message, message.rows)), message.proposed)


def _row_to_message(offer: ModeUtility) -> pb.ModeUtility:
    return pb.ModeUtility(
        mode=offer.mode,
        held=offer.held,
        size=offer.size,
        ratio=offer.ratio,
        gain=offer.gain,
        gain_error=offer.gain_error,
        mechanism=offer.mechanism or "",
        epsilon=str(offer.epsilon) if offer.epsilon else "",
        k=offer.k,
        equivalent_items=offer.equivalent_items,
    )


def _row_from_message(message: pb.ModeUtility) -> ModeUtility:
    return ModeUtility(
        mode=_mode(message.mode),
        held=message.held,
        size=message.size,
        ratio=message.ratio,
        gain=message.gain,
        gain_error=message.gain_error,
        mechanism=_mechanism(message.mechanism),
        epsilon=rational(message.epsilon) if message.epsilon else Fraction(0),
        k=message.k,
        equivalent_items=message.equivalent_items,
    )


def _mode(name: str) -> ServingMode:
    try:
        return ServingMode(name)
    except ValueError:
        raise OutOfRange("the mode of a row", f"one of {', '.join(ServingMode)}") from None


def _mechanism(name: str) -> MechanismName | None:
    found: MechanismName | None = next((each for each in MECHANISMS if each == name), None)
    if found is None and name:
        raise OutOfRange("the mechanism of a row", f"one of {', '.join(MECHANISMS)}, or none")
    return found

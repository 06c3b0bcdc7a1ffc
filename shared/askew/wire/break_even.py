"""What asking is worth, on the wire."""

from __future__ import annotations

from fractions import Fraction

from askew.dp.privacy import rational
from askew.errors import OutOfRange
from askew.protocol.break_even import MECHANISMS, BreakEven, MechanismName, Offer, Way
from askew.wire.v1 import retrieval_pb2 as pb


def break_even_to_message(table: BreakEven) -> pb.BreakEven:
    """The table of a card."""
    return pb.BreakEven(offers=map(_offer_to_message, table.offers), proposed=table.proposed)


def break_even_from_message(message: pb.BreakEven) -> BreakEven:
    """Raises OutOfRange or Malformed, as the table itself."""
    return BreakEven(tuple(map(_offer_from_message, message.offers)), message.proposed)


def _offer_to_message(offer: Offer) -> pb.Offer:
    return pb.Offer(
        way=offer.way,
        held=offer.held,
        size=offer.size,
        ratio=offer.ratio,
        gain=offer.gain,
        gain_error=offer.gain_error,
        mechanism=offer.mechanism or "",
        epsilon=str(offer.epsilon) if offer.epsilon else "",
        k=offer.k,
        worth=offer.worth,
    )


def _offer_from_message(message: pb.Offer) -> Offer:
    return Offer(
        way=_way(message.way),
        held=message.held,
        size=message.size,
        ratio=message.ratio,
        gain=message.gain,
        gain_error=message.gain_error,
        mechanism=_mechanism(message.mechanism),
        epsilon=rational(message.epsilon) if message.epsilon else Fraction(0),
        k=message.k,
        worth=message.worth,
    )


def _way(name: str) -> Way:
    try:
        return Way(name)
    except ValueError:
        raise OutOfRange("the way of an offer", f"one of {', '.join(Way)}") from None


def _mechanism(name: str) -> MechanismName | None:
    found: MechanismName | None = next((each for each in MECHANISMS if each == name), None)
    if found is None and name:
        raise OutOfRange("the mechanism of an offer", f"one of {', '.join(MECHANISMS)}, or none")
    return found

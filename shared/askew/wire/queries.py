"""Questions as bytes: a noisy signal, the public numbers of its noise, and how many results.

A device that asks for places needs this module and `askew.wire.places`, and no numpy.
"""

from __future__ import annotations

from askew.dp.privacy import ANY_SPACE
from askew.errors import Malformed, OutOfRange, ParameterError, StaleSpace
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.protocol.cards import Card, MetricCard
from askew.protocol.signal import Mechanism, Query, Signal
from askew.spaces.axes import AxisSpace
from askew.spaces.map import MapNoise
from askew.wire.messages import parse
from askew.wire.v1 import retrieval_pb2 as pb


def query_to_bytes(query: Query) -> bytes:
    """Return the request on the wire, a RetrieveRequest without the space's version. Its size
    depends on public settings alone.

    The Monday names the space of the signal: a digest of it would mark the device.
    """
    message = pb.RetrieveRequest(
        collection=query.collection,
        k=query.k,
        values=query.signal.values,
        catalog_date=query.catalog_date,
        holds_rows=query.holds_rows,
    )
    # Every number takes its bytes, whatever it is.
    match query.signal.mechanism:
        case LatticeLaplace() as lattice:
            message.lattice.step_exponent = lattice.step_exponent
            message.lattice.inverse_rate = lattice.inverse_rate
        case MapNoise() as noise:
            message.map.step_exponent = noise.lattice.step_exponent
            message.map.inverse_rate = noise.lattice.inverse_rate
            message.map.cosine = noise.cosine
    return message.SerializeToString()


def query_from_bytes(data: bytes, card: Card) -> Query:
    """Return the query of a request, checked against the card that is to answer.

    Raises Malformed for other bytes, and another WireError as `query_from_message`.
    """
    return query_from_message(parse(pb.RetrieveRequest(), data), card)


def query_from_message(message: pb.RetrieveRequest, card: Card) -> Query:
    """Return the query of a parsed request, in the card's space, or in none for a position.

    Raises StaleSpace, so that the device looks anew, for a question of the other kind (it knew this
    address by another server), and for one without a Monday, which only a position without rows may
    lack; Malformed without a mechanism, OutOfRange for one beyond its limits; else as `card.check`.
    """
    mechanism, date = _read_mechanism(message), message.catalog_date
    on_axes = isinstance(card, MetricCard) and isinstance(card.space, AxisSpace)
    if isinstance(card, MetricCard) != message.HasField("collection"):
        raise StaleSpace
    if isinstance(card, MetricCard) and on_axes == isinstance(mechanism, MapNoise):
        raise StaleSpace
    if not date and (message.holds_rows or not isinstance(mechanism, MapNoise)):
        raise StaleSpace
    query = Query(
        Signal(
            ANY_SPACE if isinstance(mechanism, MapNoise) else card.space.version,
            mechanism,
            tuple(message.values),
        ),
        message.k,
        message.collection if message.HasField("collection") else None,
        date,
        message.holds_rows,
    )
    card.check(query)
    return query


def _read_mechanism(message: pb.RetrieveRequest) -> Mechanism:
    try:
        match message.WhichOneof("mechanism"):
            case "lattice":
                return LatticeLaplace(message.lattice.step_exponent, message.lattice.inverse_rate)
            case "map":
                noise = message.map
                lattice = HexagonalLattice(noise.step_exponent, noise.inverse_rate)
                return MapNoise(lattice, noise.cosine)
            case _:
                raise Malformed("the request names no mechanism")
    except ParameterError as error:
        raise OutOfRange(error.name, error.limit) from None

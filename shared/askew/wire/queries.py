"""Questions as bytes: a noisy signal, the public numbers of its noise, and how many results.

A device that asks for places needs this module and `askew.wire.places`, and no numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from askew.dp.privacy import ANY_SPACE
from askew.errors import Malformed, OutOfRange, ParameterError, StaleSpace
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.protocol.metric_card import MetricCard
from askew.protocol.signal import Mechanism, Query, Signal
from askew.spaces.map import MapNoise
from askew.wire.messages import parse, version_from_bytes
from askew.wire.v1 import retrieval_pb2 as pb

if TYPE_CHECKING:
    from askew.protocol.model_card import Card  # brings numpy


def query_to_bytes(query: Query) -> bytes:
    """The request on the wire. Its size depends on public settings alone.

    The space of a signal of tastes is not named: the version that the device holds is, by a day.
    """
    signal = query.signal
    message = pb.RetrieveRequest(
        k=query.k,
        values=signal.values,
        collection=query.collection,
        catalog_date=query.catalog_date,
    )
    if not query.catalog_date or query.collection:
        message.space_version = bytes.fromhex(signal.space_version)
    _write_mechanism(signal.mechanism, message)
    return message.SerializeToString()


def query_from_bytes(data: bytes, card: Card) -> Query:
    """A request, checked against the model that is to answer it."""
    return query_from_message(parse(pb.RetrieveRequest(), data), card)


def query_from_message(message: pb.RetrieveRequest, card: Card) -> Query:
    """The same of a message, whose catalog date says which model is to answer."""
    mechanism, version, space = _read_mechanism(message), message.space_version, ANY_SPACE
    # A question of tastes names a catalog date, and no space. The other kind of question is of a
    # device that knew this address by another server: it must look anew, as after any other model.
    if not isinstance(card, MetricCard):
        if version or not message.catalog_date:
            raise StaleSpace
        space = card.space.version
    elif message.catalog_date and not message.collection:
        raise StaleSpace
    elif version or not isinstance(mechanism, MapNoise):
        space = version_from_bytes(version)
    signal = Signal(space, mechanism, tuple(message.values))
    query = Query(signal, message.k, message.collection, message.catalog_date)
    card.check(query)
    return query


def _write_mechanism(mechanism: Mechanism, message: pb.RetrieveRequest) -> None:
    """Every number takes its bytes, whatever it is."""
    match mechanism:
        case LatticeLaplace():
            message.lattice.step_exponent = mechanism.step_exponent
            message.lattice.inverse_rate = mechanism.inverse_rate
        case MapNoise():
            message.map.step_exponent = mechanism.lattice.step_exponent
            message.map.inverse_rate = mechanism.lattice.inverse_rate
            message.map.cosine = mechanism.cosine


def _read_mechanism(message: pb.RetrieveRequest) -> Mechanism:
    """The mechanism of a request. Raises Malformed or OutOfRange."""
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

"""Mechanisms on the wire: the public numbers of a signal's noise."""

from __future__ import annotations

from fractions import Fraction

from askew.errors import Malformed, OutOfRange, ParameterError
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import ODDS_BITS, RandomizedResponse
from askew.protocol.signal import Mechanism
from askew.spaces.map import MapNoise
from askew.wire.v1 import retrieval_pb2 as pb


def write_mechanism(mechanism: Mechanism, message: pb.RetrieveRequest) -> None:
    """Every number takes its bytes, whatever it is."""
    match mechanism:
        case LatticeLaplace():
            message.lattice.step_exponent = mechanism.step_exponent
            message.lattice.inverse_rate = mechanism.inverse_rate
        case MapNoise():
            message.map.step_exponent = mechanism.lattice.step_exponent
            message.map.inverse_rate = mechanism.lattice.inverse_rate
            message.map.cosine = mechanism.cosine
        case RandomizedResponse():
            message.randomized_response.buckets = mechanism.buckets
            message.randomized_response.odds = int(mechanism.odds * 2**ODDS_BITS)


def read_mechanism(message: pb.RetrieveRequest) -> Mechanism:
    """The mechanism of a request. Raises Malformed or OutOfRange."""
    try:
        match message.WhichOneof("mechanism"):
            case "lattice":
                return LatticeLaplace(message.lattice.step_exponent, message.lattice.inverse_rate)
            case "map":
                noise = message.map
                lattice = HexagonalLattice(noise.step_exponent, noise.inverse_rate)
                return MapNoise(lattice, noise.cosine)
            case "randomized_response":
                response = message.randomized_response
                return RandomizedResponse(response.buckets, Fraction(response.odds, 2**ODDS_BITS))
            case _:
                raise Malformed("the request names no mechanism")
    except ParameterError as error:
        raise OutOfRange(error.name, error.limit) from None

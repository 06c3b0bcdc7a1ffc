"""What a guarantee says: who is protected, how closely, in which unit.

A release protects one unit's whole history under an explicit neighboring relation; a signal
protects one profile under a metric.

Metric (geographic) differential privacy, Andrés et al. 2013: for all profiles u, v and every set S
of signals, P(signal in S | u) <= exp(epsilon * distance(u, v)) * P(signal in S | v).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Final

from askew.errors import Malformed, ParameterError

_RATIONAL_DIGITS = 160  # a numerator and a denominator below 2**256


class NeighboringRelation(Enum):
    """Which two data sets must look alike. One unit changes each count by at most 1.

    ADD_OR_REMOVE_ONE: one unit's events are all present or all absent, so all counts that change
    move the same way. REPLACE_ONE: one unit's events become another's, so counts may move both
    ways; every replacement is one removal and one addition.
    """

    ADD_OR_REMOVE_ONE = "add or remove one"
    REPLACE_ONE = "replace one"


ADD_OR_REMOVE_ONE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE_ONE = NeighboringRelation.REPLACE_ONE


def check_neighbors(neighbors: object) -> None:
    """Raise ParameterError unless neighbors is a NeighboringRelation."""
    if not isinstance(neighbors, NeighboringRelation):
        raise ParameterError("neighbors", neighbors, "ADD_OR_REMOVE_ONE or REPLACE_ONE")


@dataclass(frozen=True)
class PureDP:
    """P(output in S | D) <= exp(epsilon) P(output in S | D') for all neighbors D, D' and all S.

    Privacy unit: one person's whole history. Losses of adaptive releases add.
    """

    epsilon: Fraction
    neighbors: NeighboringRelation


@dataclass(frozen=True)
class ApproximateDP:
    """P(output in S | D) <= exp(epsilon) P(output in S | D') + delta for all neighbors and all S.

    Privacy unit: one person's whole history.
    """

    epsilon: Fraction
    delta: Fraction
    neighbors: NeighboringRelation


@dataclass(frozen=True)
class BoundedRange:
    """`rounds` adaptive selections, each epsilon-bounded-range, of a domain that is private too.

    A selection is epsilon-bounded-range (Durfee, Rogers 2019) when for all neighbors D, D' and all
    outcomes y, z: P(y|D) P(z|D') <= exp(epsilon) P(y|D') P(z|D). So its log ratios lie in an
    interval of length epsilon around zero, which is why it composes better than epsilon-DP allows.

    delta: LimitedDomain's, whose stop symbol weighs at least 1 / delta times all the items together
    that the neighbor's domain lacks; 0 for the exponential mechanism on a known domain. Where it is
    above 0, the rounds have the range of epsilon except with probability at most delta.
    Proof. In both worlds, replace the items that the neighbor lacks by one outcome, called lost,
    whose weight is delta times the stop's. Its weight moves with the stop's, so this is the
    exponential mechanism on candidates that both worlds have: epsilon-bounded-range in each round.
    The outcome lost ends it, as the stop does. Where nothing is lost its law is P+ <= P on D,
    P'+ <= P' on D', because lost weighs at least as much as what it replaced. Whatever
    bound (e, d) such rounds have, for every set S

        P(S) <= P+(S without lost) + (what P has beyond P+) <= e^e P'+(S) + d + P+(lost)

    and P+(lost) <= delta / (1 + delta), because lost and the stop end it in the ratio delta to 1.
    In a sequence of calls, the first lost one ends them all, so the deltas add. Enumerated in
    tests/guarantees.

    Holds for rounds of the exponential mechanism, LimitedDomain's among them (the stop is an
    outcome). Not for permute-and-flip, nor for exponential or Laplace noise: they are epsilon-DP
    only, so their range may be 2 epsilon.
    Privacy unit: one person's whole history.
    """

    epsilon: Fraction
    rounds: int
    delta: Fraction
    neighbors: NeighboringRelation


ANY_SPACE: Final = ""
"""The space of a place's signal, which is no server's."""

PrivacyLoss = PureDP | ApproximateDP


DEVICE_EPSILON: Final = Fraction(4, 5)
"""What one signal of a taste tells at most of one rating, by default. A device's own setting."""
DEVICE_DIAMETER: Final = Fraction(20)
"""The widest space of tastes that a device enters by default, in ratings.

Public, so that both sides hold to it: a device refuses more, and training makes no more.
"""


@dataclass(frozen=True)
class SignalCharge:
    """What one fresh signal costs, in one of the accounts, whose sums never mix.

    epsilon_per_rating: between two people who differ in one rating that is added, removed or
    changed; replacing a title is two ratings. Of a value on axes, which has an account of its own,
    between any two values.
    epsilon_per_km: of a place, per straight-line kilometer. Nothing is claimed beyond the unit:
    people who differ in n ratings are told apart by n times as much.
    """

    epsilon_per_rating: Fraction
    epsilon_per_km: Fraction = Fraction(0)

    @classmethod
    def of_place(cls, epsilon_per_km: Fraction) -> SignalCharge:
        """Return the charge of a noisy position: this epsilon per kilometer, none per rating."""
        return cls(Fraction(0), epsilon_per_km)


def exact_rational(name: str, value: object) -> Fraction:
    """Return a public parameter that is an int or a Fraction, as a Fraction.

    Raises ParameterError for anything else: a float such as 0.1 is not the number it looks like.
    """
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        limit = "an int or a Fraction; write Fraction('0.1') or Fraction(1, 10), not 0.1"
        raise ParameterError(name, value, limit)
    return value if isinstance(value, Fraction) else Fraction(value)


def positive_rational(name: str, value: object) -> Fraction:
    """Return an int or a Fraction above 0 as a Fraction. Raises ParameterError for anything else,
    also a float or text: as `exact_rational`.
    """
    exact = exact_rational(name, value)
    if exact <= 0:
        raise ParameterError(name, exact, "above 0")
    return exact


def rational(text: object) -> Fraction:
    """Return the Fraction of a text such as "3" or "2/4": digits alone, 160 characters at most.

    Raises Malformed for anything else: a sign, a space, a decimal point, an int, a division by 0.
    """
    parts = text.split("/") if isinstance(text, str) and len(text) <= _RATIONAL_DIGITS else []
    if not 1 <= len(parts) <= 2 or not all(part.isascii() and part.isdigit() for part in parts):
        raise Malformed("an exact rational must be written as 3 or 1/2")
    if not int(parts[-1]) and len(parts) == 2:
        raise Malformed("an exact rational must not be divided by 0")
    return Fraction(*map(int, parts))

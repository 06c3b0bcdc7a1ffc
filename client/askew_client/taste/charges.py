"""What a signal costs in three units, so that two signals of any mechanisms can be compared.

    between any two people      plain local epsilon
    one rating                  between profiles that differ in one rating
    unit distance               between profiles one unit of l1 distance apart

A point's bound grows with the distance r, as epsilon_per_distance * r; a bucket's is its plain
epsilon at any distance. So a bucket's charge is that epsilon in all three units, which is what the
ledger's sum of a space says of distance 1. Nearer than that a bucket hides a person less than its
third unit says, and a point more. How near two people matter at all is what one rating can change,
and that is a unit of its own. So a bucket in place of a point, or a point in place of a bucket, is
no dearer only if it is no dearer for one rating, one unit apart and as far apart as can be.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Self

from askew.dp.privacy import Reach, SignalLoss
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.model_card import ModelCard
from askew_client.settings.settings import ClientSettings
from askew_client.taste.mechanism import mechanism_for

if TYPE_CHECKING:
    from askew_client.settings.consent import Consent

_LEAST_BUCKETS = 2  # what a response costs does not depend on how many there are


@dataclass(frozen=True)
class Charges:
    """A signal's charge in the three units."""

    between_any_two: Fraction
    one_rating: Fraction
    unit_distance: Fraction

    @classmethod
    def of(cls, loss: SignalLoss) -> Self:
        """By this device's own reckoning."""
        per_distance = loss.epsilon_per_distance
        unit = loss.epsilon if per_distance is None else per_distance
        return cls(loss.epsilon, loss.epsilon_per_rating, unit)

    def within(self, limit: Charges) -> bool:
        """Whether no unit is dearer than the limit's."""
        return (
            self.between_any_two <= limit.between_any_two
            and self.one_rating <= limit.one_rating
            and self.unit_distance <= limit.unit_distance
        )


def charges_of(card: ModelCard, settings: ClientSettings) -> Charges:
    """What a fresh signal of these settings costs at this server. Raises as `mechanism_for`."""
    return Charges.of(mechanism_for(card, settings).privacy_loss(card.space.encoder.reach()))


def limit_of(card: ModelCard, settings: ClientSettings) -> Charges:
    """The most that a signal may cost without another word from the person.

    It is what the settings' own signal costs; in a space that they do not enter, what it would
    cost in the widest one that they do.
    """
    if settings.mechanism == "bucket_rr":
        response = RandomizedResponse.for_epsilon(_LEAST_BUCKETS, settings.epsilon)
        return Charges.of(SignalLoss.uniform(response.epsilon))
    reach = card.space.encoder.reach()
    entered = Reach(
        min(reach.one_rating, Fraction(settings.max_one_rating)),
        min(reach.diameter, Fraction(settings.max_diameter)),
    )
    return Charges.of(LatticeLaplace.for_epsilon(settings.epsilon).privacy_loss(entered))


def charges_within(consent: Consent) -> Charges:
    """The most that a signal may cost by a consent."""
    return Charges(consent.between_any_two, consent.one_rating, consent.epsilon)

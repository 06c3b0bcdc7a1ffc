"""The mechanisms that a caller may name, and what has to be known before one is built."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from askew.dp.composition import delta_of, rounds_of
from askew.dp.privacy import NeighboringRelation
from askew.mechanisms.canonical import Canonical
from askew.mechanisms.joint import Joint, PNFJoint
from askew.mechanisms.limited_domain import LaplaceLimitedDomain, LimitedDomain
from askew.mechanisms.lipschitz import (
    ConcentratedPeeling,
    LaplaceCounts,
    OneShot,
    Peeling,
    PermuteAndFlip,
)
from askew.mechanisms.noisy_counts import NoisyCounts
from askew.mechanisms.shortfall import Selector

LEAST_DEPTH: Final = 1000  # of a limited domain: deeper is hardly worse, and loses no candidate


@dataclass(frozen=True)
class Kind:
    """A mechanism over counts. is_ranged: its loss is bounded-range rounds (`ranged_loss`).

    needs_bound: its noise or its threshold depends on how many counts a unit may change.
    """

    mechanism: Any
    ranked: bool = True
    needs_catalog: bool = True
    needs_delta: bool = False
    needs_bound: bool = False
    is_ranged: bool = False

    def build(
        self,
        k: int,
        epsilon: Fraction,
        delta: Fraction,
        neighbors: NeighboringRelation,
        bound: int | None,
    ) -> Selector:
        """Return the mechanism for k items that spends all of epsilon, and delta only where
        `needs_delta`. Raises ParameterError.

        A LimitedDomain gets epsilon and delta by `rounds_of`, so its `privacy_loss`, a plain sum,
        may pass epsilon. bound: max_items_per_unit, used where `needs_bound` only. A limited
        domain's kbar is the largest of k, bound and 1000.
        """
        chosen: dict[str, Any] = {"k": k, "epsilon": epsilon, "neighbors": neighbors}
        if self.needs_delta:
            chosen["delta"] = delta
        if self.needs_bound:
            chosen["max_items_per_unit"] = bound
        if not self.needs_catalog:
            chosen["kbar"] = max(k, bound or 0, LEAST_DEPTH)
        if self.mechanism is LimitedDomain:  # which counts by round
            chosen["epsilon"], chosen["delta"] = rounds_of(epsilon, delta, k)
        selector: Selector = self.mechanism(**chosen)
        return selector

    def split(  # noqa: PLR0913
        self,
        *,
        k: int,
        epsilon: Fraction,
        delta: Fraction,
        neighbors: NeighboringRelation,
        max_items_per_unit: int | None,
        share: Fraction,
    ) -> tuple[Fraction, Fraction, NoisyCounts | None]:
        """Return epsilon * (1 - share) and delta, those of the mechanism, and the noise of the
        counts beside the items. delta is 0 where it needs none; at a share of 0 the noise is None.

        The counts get epsilon * share. They may spend all of the delta of a mechanism that needs
        none, and half of the others'; what they do not need is the mechanism's, or is not spent.
        Both losses add up to no more than (epsilon, delta) (`askew.mechanisms.noisy_counts` has the
        proof). Raises ParameterError.
        """
        left = delta if self.needs_delta else Fraction(0)
        if not share:
            return epsilon, left, None
        noise = NoisyCounts(
            k=k,
            epsilon=epsilon * share,
            neighbors=neighbors,
            max_items_per_unit=max_items_per_unit,
            delta=delta / 2 if self.needs_delta else delta,
        )
        if self.needs_delta:
            left -= delta_of(noise.privacy_loss())
        return epsilon * (1 - share), left, noise


KINDS: Final = {
    "canonical": Kind(Canonical, ranked=False, is_ranged=True),
    "one-shot": Kind(OneShot, ranked=False),
    "joint": Kind(Joint, is_ranged=True),
    "pnf-joint": Kind(PNFJoint),
    "peeling": Kind(Peeling, is_ranged=True),
    "permute-and-flip": Kind(PermuteAndFlip),
    "concentrated-peeling": Kind(ConcentratedPeeling, needs_delta=True, is_ranged=True),
    "laplace-counts": Kind(LaplaceCounts, needs_bound=True),
    "limited-domain": Kind(
        LimitedDomain, needs_catalog=False, needs_delta=True, needs_bound=True, is_ranged=True
    ),
    "laplace-domain": Kind(
        LaplaceLimitedDomain, needs_catalog=False, needs_delta=True, needs_bound=True
    ),
}

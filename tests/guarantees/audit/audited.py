"""Every mechanism that selects by pure epsilon-DP, beside its definition."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from guarantees.audit.contests import on_the_tape
from guarantees.audit.definitions import canonical, joint, peeled
from guarantees.audit.enumeration import Counts, HasLaw, Law, by_symmetry, law_of

from askew.dp.privacy import ADD_OR_REMOVE_ONE, NeighboringRelation
from askew.mechanisms import Canonical, Joint, OneShot, Peeling, PermuteAndFlip, PNFJoint
from askew.mechanisms.contest import NoiseFamily
from askew.mechanisms.tally import Tally

Selects = Canonical | Joint | OneShot | Peeling | PermuteAndFlip | PNFJoint
HALF = Fraction(1, 2)


class Audited(NamedTuple):
    """build(k=, epsilon=, neighbors=) makes it; law(rate, k) is its definition, where `rate` is
    what a count is worth in units of noise when all counts move one way.
    """

    build: Callable[..., Selects]
    law: Callable[[Fraction, int], HasLaw]

    def definition(self, k: int, epsilon: Fraction, neighbors: NeighboringRelation) -> HasLaw:
        """The law that the mechanism must have."""
        rate = epsilon if neighbors is ADD_OR_REMOVE_ONE else epsilon / 2
        return self.law(rate, k)


def of_peeling(noise: NoiseFamily) -> Audited:
    return Audited(partial(Peeling, noise=noise), lambda rate, k: peeled(noise, rate / k, k))


def of_canonical(gamma: Fraction, noise: NoiseFamily = "gumbel", *, clipped: bool) -> Audited:
    return Audited(
        partial(Canonical, gamma=gamma, noise=noise, clipped=clipped),
        lambda rate, k: canonical(noise, rate, k, gamma, clipped=clipped),
    )


def sets_of_peeling(rate: Fraction, k: int) -> HasLaw:
    """One-shot Gumbel noise has the law of the exponential mechanism peeled, as a set."""
    ordered = peeled("gumbel", rate / k, k)

    def law(counts: Counts) -> Law:
        found: Law = {}
        for outcome, p in ordered(counts).items():
            found[tuple(sorted(outcome))] = found.get(tuple(sorted(outcome)), Fraction(0)) + p
        return found

    return law


def of_joint(build: Callable[..., Selects], noise: NoiseFamily) -> Audited:
    """A loss moves both ways; that of a single item is its count and a shift, so it does not."""
    return Audited(build, lambda rate, k: joint(noise, rate if k == 1 else rate / 2, k))


MECHANISMS = {
    "peeling": of_peeling("gumbel"),
    "peeling, laplace": of_peeling("laplace"),
    "permute-and-flip": Audited(PermuteAndFlip, of_peeling("exponential").law),
    "one-shot": Audited(partial(OneShot, noise="gumbel"), sets_of_peeling),
    "joint": of_joint(Joint, "gumbel"),
    "pnf joint": of_joint(PNFJoint, "exponential"),
    "canonical, clipped": of_canonical(HALF, clipped=True),
    "canonical": of_canonical(HALF, clipped=False),
    "canonical, gamma 0": of_canonical(Fraction(0), clipped=False),
    "canonical, gamma 1": of_canonical(Fraction(1), clipped=False),
    "canonical, gamma 3/4": of_canonical(Fraction(3, 4), clipped=False),
    "canonical, exponential": of_canonical(HALF, "exponential", clipped=False),
    "canonical, exponential, clipped": of_canonical(HALF, "exponential", clipped=True),
    "canonical, exponential, gamma 1": of_canonical(Fraction(1), "exponential", clipped=False),
    "canonical, laplace": of_canonical(HALF, "laplace", clipped=False),
}


def exact_law(mechanism: Selects) -> HasLaw:
    """What the code does, with every choice and every contest on the tape."""

    def law(counts: Counts) -> Law:
        with on_the_tape():
            return law_of(partial(mechanism.draw, Tally(counts, mechanism.k)))

    return by_symmetry(law, sets=isinstance(mechanism, Canonical | OneShot))

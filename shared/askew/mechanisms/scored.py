"""What the mechanisms over scores of a stated sensitivity share; without one, scores are counts."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from askew.errors import ParameterError
from askew.mechanisms.parameters import check_k, check_neighbors, check_positive, halved
from askew.mechanisms.tally import Scores, Tally, tally_of_scores
from askew.privacy import NeighboringRelation


class Scored(Protocol):
    """A mechanism over counts, or over scores of a stated sensitivity."""

    @property
    def k(self) -> int:
        """How many items to select."""

    @property
    def epsilon(self) -> Fraction | int:
        """The total."""

    @property
    def neighbors(self) -> NeighboringRelation:
        """Which data sets must look alike."""

    @property
    def linf_sensitivity(self) -> Fraction | int | None:
        """How far a score can move; None for counts, which a unit moves by at most 1.

        Of scores that move both ways: between neighbors, so under REPLACE_ONE when one unit's
        events become another's, up to twice what a unit moves that comes. Of monotone ones: when a
        unit comes; under REPLACE_ONE that is as far as a score moves, up or down.
        """

    @property
    def monotone(self) -> bool | None:
        """Whether a unit that comes moves no score down; None: counts yes, scores no."""


def check_scored(mechanism: Scored) -> None:
    """Raises ParameterError unless all parameters are in range."""
    check_k(mechanism.k)
    check_positive("epsilon", mechanism.epsilon)
    check_neighbors(mechanism.neighbors)
    if mechanism.linf_sensitivity is not None:
        check_positive("linf_sensitivity", mechanism.linf_sensitivity)
    if mechanism.monotone is not None and not isinstance(mechanism.monotone, bool):
        raise ParameterError("monotone", mechanism.monotone, "True, False or None")


def rate_of(mechanism: Scored) -> Fraction:
    """epsilon per unit of score, halved where scores may move both ways."""
    counts = mechanism.linf_sensitivity is None
    monotone = counts if mechanism.monotone is None else mechanism.monotone
    sensitivity = Fraction(1 if mechanism.linf_sensitivity is None else mechanism.linf_sensitivity)
    epsilon = Fraction(mechanism.epsilon)
    return (halved(epsilon, mechanism.neighbors) if monotone else epsilon / 2) / sensitivity


def tally_for(mechanism: Scored, scores: Scores) -> Tally:
    """A validated view of counts or scores. Raises ParameterError."""
    stated = mechanism.linf_sensitivity is not None
    return tally_of_scores(scores, mechanism.k, stated=stated)

"""What an analyst asks, and the terms on which answers are paid: pay what you get.

Source: Durfee, Rogers 2019, Algorithm 3 (pay what you get) and Theorem 2 (what it loses in all).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from askew.dp.composition import basic, check_losses, check_slack, zcdp
from askew.dp.privacy import (
    ADD_OR_REMOVE_ONE,
    ApproximateDP,
    BoundedRange,
    NeighboringRelation,
    check_neighbors,
    exact_rational,
)
from askew.errors import BudgetExceeded, OutOfRange, ParameterError
from askew.limits import check_text

MAX_K = 1000
MAX_KEY = 64


@dataclass(frozen=True)
class AnalystUsage:
    """What an analyst has had: symbols released, the stops among them, and calls."""

    outputs: int = 0
    calls: int = 0


@dataclass(frozen=True, kw_only=True)
class PayWhatYouGet:
    """The terms of one analyst on one data set: k* symbols in at most l* calls of LimitedDomain.

    Every answer costs its length, the stop symbol included (`Selection.outputs`), because a stop
    is a draw of the exponential mechanism like any other. A call may ask for k symbols only if k
    are left: it reserves them all, before the data are touched, and is settled to its length.

    epsilon: per symbol; delta: per call. slack: 0, and the data set composes these rounds with all
    others that it has (`PrivacyFilter`); above 0, they are composed by themselves at this delta,
    and what comes of it is added to the rest. The first is cheaper for several analysts, the second
    for one under a cap without slack.
    Privacy unit: one person's whole history. Neighbors: ADD_OR_REMOVE_ONE, as of LimitedDomain.
    Guarantee: all answers together lose `grant`, however the questions are chosen and whoever else
    asks meanwhile: docs/proofs/budget.md. Source: Durfee, Rogers 2019, Algorithm 2 (which loops for
    ever if a call asks for more than k*; here that is refused), with zCDP in place of their
    equation 3, and each delta once.
    """

    k_star: int
    l_star: int
    epsilon: Fraction
    delta: Fraction
    slack: Fraction = Fraction(0)
    neighbors: NeighboringRelation = ADD_OR_REMOVE_ONE

    def __post_init__(self) -> None:
        for name in ("k_star", "l_star"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**32:
                raise ParameterError(name, value, "an int from 1 to 2**32 - 1")
        check_neighbors(self.neighbors)
        if self.neighbors is not ADD_OR_REMOVE_ONE:
            raise ParameterError("neighbors", self.neighbors.name, "ADD_OR_REMOVE_ONE")
        check_slack(self.delta)
        if exact_rational("slack", self.slack) != 0:
            check_slack(self.slack)
        if self.l_star * self.delta + self.slack >= 1:
            raise ParameterError("delta", self.delta, "so small that l* delta + slack < 1")
        check_losses([self.grant()])

    def grant(self) -> BoundedRange | ApproximateDP:
        """Return what the terms cost the data set in all: a BoundedRange of k* rounds of epsilon
        and a delta of l* times delta; with a slack above 0 what `zcdp` makes of it.
        """
        rounds = BoundedRange(self.epsilon, self.k_star, self.l_star * self.delta, self.neighbors)
        return zcdp([rounds], self.slack) if self.slack else rounds

    def total_loss(self) -> ApproximateDP:
        """Return (epsilon, delta) of all answers that the terms allow, given or not: `basic` of
        `grant`, if nothing else is released of the data set.
        """
        return basic([self.grant()])

    def answer(self, k: int) -> BoundedRange:
        """Return the BoundedRange of k rounds of epsilon and one delta; k is not checked here."""
        return BoundedRange(self.epsilon, k, self.delta, self.neighbors)

    def reserve(self, answered: AnalystUsage, k: int) -> AnalystUsage:
        """Return the usage after one more call, for k symbols and paid in full: k more outputs, one
        call.

        Raises BudgetExceeded where too few symbols or calls are left, and ParameterError unless k
        is an int of at least 1.
        """
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ParameterError("k", k, "an int of at least 1")
        for measure, requested, spent, cap in (
            ("outputs", k, answered.outputs, self.k_star),
            ("questions", 1, answered.calls, self.l_star),
        ):
            if spent + requested > cap:
                numbers = map(Fraction, (requested, spent, cap))
                raise BudgetExceeded(*numbers, measure=measure, whose="analyst's grant of")
        return AnalystUsage(answered.outputs + k, answered.calls + 1)

    def settle(self, answered: AnalystUsage, k: int, outputs: object) -> AnalystUsage:
        """Return the usage where a reservation of k is settled to the answer's number of outputs:
        answered.outputs - k + outputs, and the same calls.

        Raises ParameterError unless outputs is an int from 1 to k.
        """
        if isinstance(outputs, bool) or not isinstance(outputs, int) or not 1 <= outputs <= k:
            raise ParameterError("outputs", outputs, f"an int from 1 to the {k} reserved")
        return AnalystUsage(answered.outputs - k + outputs, answered.calls)


@dataclass(frozen=True)
class TopKQuestion:
    """The most popular items of a data set, k at most, under a name of the caller's own.

    key, 1 to 64 printable ASCII characters without spaces, makes a retry the same question. Raises
    OutOfRange for a k, name or key beyond its limits.
    """

    dataset: str
    k: int
    key: str

    def __post_init__(self) -> None:
        if not 1 <= self.k <= MAX_K:
            raise OutOfRange("k", f"from 1 to {MAX_K}")
        check_text("the name of a data set", self.dataset)
        plain = self.key.isascii() and self.key.isprintable() and " " not in self.key
        if not 0 < len(self.key) <= MAX_KEY or not plain:
            limit = f"1 to {MAX_KEY} printable ASCII characters without spaces"
            raise OutOfRange("a key", limit)


@dataclass(frozen=True)
class BudgetStatus:
    """One analyst's terms on one data set, and what is spent of them, reservations included.

    closed: nothing may be asked any more, because the operator revoked the budget, or let a ledger
    go on that had lost rows. What was spent stands; outputs_left is 0.
    Raises OutOfRange when more is spent than the terms allow.
    """

    terms: PayWhatYouGet
    outputs: int
    calls: int
    closed: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.outputs <= self.terms.k_star:
            raise OutOfRange("the outputs spent", "from 0 to k_star")
        if not 0 <= self.calls <= self.terms.l_star:
            raise OutOfRange("the calls made", "from 0 to l_star")

    @property
    def outputs_left(self) -> int:
        """Return the largest k that may be asked now: k* less the outputs spent; 0 where closed or
        no call is left.
        """
        usable = not self.closed and self.calls < self.terms.l_star
        return self.terms.k_star - self.outputs if usable else 0

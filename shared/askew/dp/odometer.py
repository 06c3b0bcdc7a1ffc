"""The running privacy loss of a sequence of charges, and filters that refuse before a cap.

Storage-free: a filter is its public parameters, and what was spent is an argument and a result. So
the ledger can keep both, and a refused request changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from askew.dp.composition import (
    Loss,
    basic,
    check_losses,
    check_magnitude,
    check_slack,
    concentrated_epsilon,
    delta_of,
    epsilon_of,
    order_for,
    rho_of,
    zcdp,
)
from askew.dp.privacy import (
    ADD_OR_REMOVE_ONE,
    ApproximateDP,
    BoundedRange,
    NeighboringRelation,
    exact_rational,
    positive_rational,
)
from askew.errors import BudgetExceeded, ParameterError


@dataclass(frozen=True, kw_only=True)
class RunningLoss:
    """Sums over all charges, exact: enough to continue from, whatever came before.

    epsilon, delta: of the charges that are added. range_epsilon, range_delta, rho: of the
    bounded-range ones, by `basic` and by `zcdp`.
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    range_epsilon: Fraction = Fraction(0)
    range_delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)

    def __add__(self, other: RunningLoss) -> RunningLoss:
        return self._paired(other, 1)

    def __sub__(self, other: RunningLoss) -> RunningLoss:
        return self._paired(other, -1)

    def _paired(self, other: RunningLoss, sign: int) -> RunningLoss:
        mine, theirs = vars(self), vars(other)
        return RunningLoss(**{name: value + sign * theirs[name] for name, value in mine.items()})

    def plus(self, loss: Loss) -> RunningLoss:
        """After one more charge."""
        epsilon, delta = epsilon_of(loss), delta_of(loss)
        if isinstance(loss, BoundedRange):
            return RunningLoss(
                epsilon=self.epsilon,
                delta=self.delta,
                range_epsilon=self.range_epsilon + epsilon,
                range_delta=self.range_delta + delta if delta else self.range_delta,
                rho=self.rho + rho_of(loss),
            )
        return RunningLoss(
            epsilon=self.epsilon + epsilon,
            delta=self.delta + delta if delta else self.delta,
            range_epsilon=self.range_epsilon,
            range_delta=self.range_delta,
            rho=self.rho,
        )


@dataclass(frozen=True, kw_only=True)
class PrivacyFilter:
    """A cap on the total loss, exact, and the filter that keeps it.

        epsilon + min(range_epsilon, conversion of rho at slack and `order`)
        delta + range_delta + (slack if rho > 0)

    slack: the part of delta that the conversion from zCDP uses; counted once, from the first
    bounded-range charge on. 0 means that such charges are added like all others.
    order: of that conversion; by default the one that fits the most rho under the cap.

    Guarantee: however adaptively the charges are chosen, all that is released under a budget is
    together (epsilon, delta)-DP. `loss` on the way is information: the guarantee is the cap's.
    The best order of each rho would not do: charges may be chosen by what the selections so far
    gave away, and the order would follow. Proof, with analysts whose sessions run at the same time:
    docs/proofs/budget.md. Source: Feldman, Zrnic 2021 and Whitehouse et al. 2023, for filters.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    slack: Fraction = Fraction(0)
    order: Fraction | None = None

    def __post_init__(self) -> None:
        check_magnitude("epsilon", positive_rational("epsilon", self.epsilon))
        for name in ("delta", "slack"):
            check_magnitude(name, exact_rational(name, getattr(self, name)))
        if not 0 <= self.slack <= self.delta < 1:
            got = f"delta {self.delta}, slack {self.slack}"
            raise ParameterError("delta", got, "0 <= slack <= delta < 1")
        if self.slack and self.order is None:
            object.__setattr__(self, "order", order_for(self.epsilon, self.slack))
        if self.order is not None and not (self.slack and self.order > 1):
            raise ParameterError("order", self.order, "above 1, and None without slack")

    def loss(self, spent: RunningLoss, neighbors: NeighboringRelation) -> ApproximateDP:
        """What was spent, as one loss; never below a valid bound."""
        ranged, delta = spent.range_epsilon, spent.delta + spent.range_delta
        if self.order and spent.rho:
            concentrated = concentrated_epsilon(spent.rho, self.slack, self.order)
            ranged = min(ranged, concentrated)
            delta += self.slack
        return ApproximateDP(spent.epsilon + ranged, delta, neighbors)

    def after(self, spent: RunningLoss, loss: Loss) -> RunningLoss:
        """What is spent after one more charge. Raises BudgetExceeded, ParameterError."""
        neighbors = check_losses([loss])
        charged = spent.plus(loss)
        then = self.loss(charged, neighbors)
        for measure in ("epsilon", "delta"):
            spends, cap = getattr(then, measure), getattr(self, measure)
            if spends > cap:
                had = getattr(self.loss(spent, neighbors), measure)
                raise BudgetExceeded(
                    spends - had, had, cap, measure=measure, whose="data set's budget of"
                )
        return charged


@dataclass(frozen=True)
class AnalystUsage:
    """What an analyst has had: symbols released, the stops among them, and calls."""

    outcomes: int = 0
    calls: int = 0


@dataclass(frozen=True, kw_only=True)
class PayWhatYouGet:
    """The terms of one analyst on one data set: k* symbols in at most l* calls of LimitedDomain.

    Every answer costs its length, the stop symbol included (`Selection.outcomes`), because a stop
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
        if self.neighbors is not ADD_OR_REMOVE_ONE:
            raise ParameterError("neighbors", self.neighbors.name, "ADD_OR_REMOVE_ONE")
        check_slack(self.delta)
        if exact_rational("slack", self.slack) != 0:
            check_slack(self.slack)
        if self.l_star * self.delta + self.slack >= 1:
            raise ParameterError("delta", self.delta, "so small that l* delta + slack < 1")
        check_losses([self.grant()])

    def grant(self) -> BoundedRange | ApproximateDP:
        """What the whole of it costs the data set: k* rounds and l* deltas, or their zCDP."""
        rounds = BoundedRange(self.epsilon, self.k_star, self.l_star * self.delta, self.neighbors)
        return zcdp([rounds], self.slack) if self.slack else rounds

    def total_loss(self) -> ApproximateDP:
        """What the whole of it loses if nothing else is ever released of the data set."""
        return basic([self.grant()])

    def answer(self, k: int) -> BoundedRange:
        """The loss of one call for k symbols: what a request must name."""
        return BoundedRange(self.epsilon, k, self.delta, self.neighbors)

    def reserve(self, answered: AnalystUsage, k: int) -> AnalystUsage:
        """A call for k symbols, paid in full. Raises BudgetExceeded, ParameterError."""
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ParameterError("k", k, "an int of at least 1")
        for measure, requested, spent, cap in (
            ("outcomes", k, answered.outcomes, self.k_star),
            ("questions", 1, answered.calls, self.l_star),
        ):
            if spent + requested > cap:
                numbers = map(Fraction, (requested, spent, cap))
                raise BudgetExceeded(*numbers, measure=measure, whose="analyst's grant of")
        return AnalystUsage(answered.outcomes + k, answered.calls + 1)

    def settle(self, answered: AnalystUsage, k: int, outcomes: object) -> AnalystUsage:
        """What a reservation of k becomes once its answer is stored. Raises ParameterError."""
        if isinstance(outcomes, bool) or not isinstance(outcomes, int) or not 1 <= outcomes <= k:
            raise ParameterError("outcomes", outcomes, f"an int from 1 to the {k} reserved")
        return AnalystUsage(answered.outcomes - k + outcomes, answered.calls)

"""How privacy losses add up: rules of composition, and the filter that refuses beyond a cap.

Privacy unit: one person's whole history. Both rules hold for adaptively chosen mechanisms: `basic`
for every loss; `zcdp` for bounded-range selections (`askew.dp.privacy.BoundedRange`) alone.

Numbers are exact rationals. Where a formula is irrational, its value is rounded **up** to a
multiple of 2**-40, and lies at most 2**-39 * (1 + the basic sum) above the formula. Enclosures, not
floats, decide; floats only choose the order at which zCDP is converted, where every one is valid.

A `PrivacyFilter` is its public parameters and stores nothing: the `RunningLoss` is an argument and
a result. So the ledger can keep both, and a refused request changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, frexp, log, log1p

from askew.dp.intervals import log_ratio
from askew.dp.privacy import (
    ADD_OR_REMOVE_ONE,
    ApproximateDP,
    BoundedRange,
    NeighboringRelation,
    PureDP,
    check_neighbors,
    exact_rational,
    positive_rational,
)
from askew.errors import BudgetExceeded, ParameterError
from askew.limits import MAX_SELECTED

_PRECISION = 128
_UNIT = 2**40
_NOTHING = Fraction(0)
_MOST = 2**1000  # floats hold it, and its products with what stands beside it

Loss = PureDP | ApproximateDP | BoundedRange


def basic(losses: Sequence[Loss]) -> ApproximateDP:
    """Return the ApproximateDP of the sums of epsilon and delta; a BoundedRange adds rounds *
    epsilon, and its delta once. Raises ParameterError as `check_losses`.

    Source: Dwork, Kenthapadi, McSherry, Mironov, Naor 2006.
    """
    neighbors = check_losses(losses)
    return ApproximateDP(_sum(map(epsilon_of, losses)), _sum(map(delta_of, losses)), neighbors)


def zcdp(selections: Sequence[BoundedRange], slack: Fraction) -> ApproximateDP:
    """Return the ApproximateDP of these rounds; `slack` is added to delta in any case.

        epsilon = min(`concentrated_epsilon` of the sum of rho, that of `basic`)
        delta = sum of delta + slack,    rho = epsilon^2 / 8 a round

    Heterogeneous and adaptive epsilons add exactly, which no other rule here gives, as long as the
    total of rho is fixed in advance; `askew.dp.composition.PrivacyFilter` is a filter without that.
    A delta enters nowhere else: `BoundedRange` has the proof.
    Source of rho: Dong, Durfee, Rogers 2020 (Hoeffding's lemma on a range of epsilon); of adaptive
    epsilons: Whitehouse, Ramdas, Rogers, Wu 2023. Raises ParameterError as `check_losses` and
    `check_slack`.
    """
    neighbors = check_losses(selections)
    slack = check_slack(slack)
    deltas = _sum(map(delta_of, selections))
    ranged = concentrated_epsilon(_sum(map(rho_of, selections)), slack)
    return ApproximateDP(min(basic(selections).epsilon, ranged), deltas + slack, neighbors)


def concentrated_epsilon(rho: Fraction, slack: Fraction, order: Fraction | None = None) -> Fraction:
    """Return the epsilon of rho-zCDP at delta = slack, rounded up to a multiple of 2**-40, and
    0 where that is below 0 or rho is 0: at an order a > 1

        rho a + ln(1 / (a slack)) / (a - 1) + ln(1 - 1/a)

    and without one at the best, where rho (a - 1)^2 = ln(1 / (a slack)).
    The best order is for a rho fixed in advance; a filter, whose total adapts, fixes the order.
    Source: Canonne, Kamath, Steinke 2020 (a bound at each order). Raises ParameterError for floats
    and unless rho >= 0, 0 < slack < 1 and order > 1.
    """
    if not 0 <= exact_rational("rho", rho) < _MOST:
        raise ParameterError("rho", rho, "from 0 to below 2**1000")
    _check_probability(slack)
    if order is not None and not 1 < exact_rational("order", order) < _MOST:
        raise ParameterError("order", order, "above 1 and below 2**1000")
    if not rho:
        return _NOTHING
    if order is None:
        order = _best_order(float(rho), slack)
    return max(_NOTHING, _round_up(rho * order + _conversion(order, slack)))


@lru_cache(maxsize=64)  # a filter asks again and again for its own
def _conversion(order: Fraction, slack: Fraction) -> Fraction:
    return _log_up(1 / (order * slack)) / (order - 1) + _log_up(1 - 1 / order)


def epsilon_per_round(epsilon: Fraction | int, rounds: int, slack: Fraction) -> Fraction:
    """Return the epsilon of one of `rounds` bounded-range rounds that are (epsilon, slack)-DP
    together.

    The largest multiple of a 2**-40th of epsilon / rounds, which the sum allows in any case, whose
    rho converts to at most epsilon: rounded down, and with slack 0 exactly epsilon / rounds. Raises
    ParameterError unless epsilon is above 0 and at most 2**256, rounds an int from 1 to 2**32 - 1,
    and slack from 0 to below 1; floats are refused.
    """
    epsilon = positive_rational("epsilon", epsilon)
    if epsilon > 2**256:
        raise ParameterError("epsilon", epsilon, "at most 2**256")
    _check_rounds(rounds)
    if exact_rational("slack", slack):
        _check_probability(slack)
    basic = epsilon / rounds
    if not slack:
        return basic

    def within(steps: int) -> bool:
        share = basic * Fraction(steps, _UNIT)
        return concentrated_epsilon(rounds * share**2 / 8, slack) <= epsilon

    return basic * Fraction(_largest(within, _UNIT), _UNIT)


def rounds_of(epsilon: Fraction, delta: Fraction, k: int) -> tuple[Fraction, Fraction]:
    """Return (epsilon of a round, delta of the threshold) for k rounds of (epsilon, delta) in all:
    (epsilon / k, delta) by basic composition or, where half of delta buys more by
    `epsilon_per_round`, (that, delta / 2): at delta 10**-6 from k = 6 on for epsilon 1, from 7 for
    4. Raises ParameterError as that does.
    """
    slack = delta / 2
    share = epsilon_per_round(epsilon, k, slack)
    return (share, slack) if share > epsilon / k else (share, delta)


def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho, a multiple of 2**-60, that converts to at most epsilon at this delta.

    Raises ParameterError where epsilon or delta is out of range, or no such rho is above 0.
    """
    epsilon = _check_magnitude("epsilon", positive_rational("epsilon", epsilon))
    delta = check_slack(delta)

    def within(steps: int) -> bool:
        return concentrated_epsilon(Fraction(steps, 2**60), delta) <= epsilon

    if not within(1):
        raise ParameterError("epsilon", epsilon, "large enough for any rho at this delta")
    return Fraction(_largest(within, 1), 2**60)


def _largest(within: Callable[[int], bool], low: int) -> int:
    # The largest integer from low on that is within, by doubling and bisection; low is.
    high = 2 * low
    while within(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if within(middle) else (low, middle)
    return low


def _best_order(rho: float, slack: Fraction) -> Fraction:
    # Above 1, where the conversion gives the least epsilon, about: 11.66 for .1 and 10**-6.
    target = float(_log_up(1 / slack))
    return _order(lambda x: rho * x * x + log1p(x) < target)


def _order_for(epsilon: Fraction, slack: Fraction) -> Fraction:
    # At which the conversion fits the most rho under a cap of epsilon.
    target, cap = float(_log_up(1 / slack)), float(epsilon)

    def passes_cap(x: float) -> bool:
        rest = target - log1p(x)  # rho (a - 1)^2, at the rho whose best order is a
        return rest > 0 and rest * (1 + 2 * x) / (x * x) + log(x / (1 + x)) > cap

    return _order(passes_cap)


def _order(is_low: Callable[[float], bool]) -> Fraction:
    low, high = -40.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if is_low(2.0**middle) else (low, middle)
    mantissa, exponent = frexp(2.0**high)
    return 1 + Fraction(ceil(mantissa * 2**20), 2**20) * Fraction(2) ** exponent


def epsilon_of(loss: Loss) -> Fraction:
    """Return the epsilon that a loss adds under basic composition, of all its rounds."""
    return loss.epsilon * loss.rounds if isinstance(loss, BoundedRange) else loss.epsilon


def delta_of(loss: Loss) -> Fraction:
    """Return the delta of a loss; 0 for PureDP."""
    return _NOTHING if isinstance(loss, PureDP) else loss.delta


def rho_of(selection: BoundedRange) -> Fraction:
    """Return rounds * epsilon^2 / 8; see `zcdp`."""
    epsilon = selection.epsilon  # one fraction, in lowest terms once
    return Fraction(selection.rounds * epsilon.numerator**2, 8 * epsilon.denominator**2)


def check_losses(losses: Sequence[Loss]) -> NeighboringRelation:
    """Return the relation that all losses share. Raises ParameterError for two relations, for no
    loss, and unless epsilon is above 0 and below 2**32, delta from 0 to below 1, rounds 1 or more.
    """
    for loss in losses:
        check_neighbors(loss.neighbors)
    relations = {loss.neighbors for loss in losses}
    if len(relations) != 1:
        got = sorted(relation.name for relation in relations)
        raise ParameterError("neighbors", got, "one relation for all losses, and one loss at least")
    for loss in losses:
        _check_magnitude("epsilon", positive_rational("epsilon", loss.epsilon))
        if isinstance(loss, PureDP):
            continue
        if not 0 <= _check_magnitude("delta", exact_rational("delta", loss.delta)) < 1:
            raise ParameterError("delta", loss.delta, "from 0 to below 1")
        if isinstance(loss, BoundedRange):
            _check_rounds(loss.rounds)
    return relations.pop()


def check_slack(slack: object) -> Fraction:
    """Return slack, as it is. Raises ParameterError unless it is a Fraction strictly between 0 and
    1, with a denominator of at most 2**256.
    """
    exact = _check_magnitude("slack", positive_rational("slack", slack))
    if exact >= 1:
        raise ParameterError("slack", exact, "below 1")
    return exact


def _check_rounds(rounds: object) -> None:
    if isinstance(rounds, bool) or not isinstance(rounds, int) or not 0 < rounds <= MAX_SELECTED:
        raise ParameterError("rounds", rounds, "an int from 1 to 2**32 - 1")


def _check_probability(slack: object) -> None:
    if not 0 < exact_rational("slack", slack) < 1:
        raise ParameterError("slack", slack, "above 0 and below 1")


def _check_magnitude(name: str, value: Fraction) -> Fraction:
    if value >= 2**32 or value.denominator > 2**256:
        limit = "below 2**32 with a denominator of at most 2**256"
        raise ParameterError(name, value, limit)
    return value


def _sum(values: Iterable[Fraction]) -> Fraction:
    return sum(values, Fraction(0))


def _log_up(ratio: Fraction) -> Fraction:
    _, high = log_ratio(ratio.numerator, ratio.denominator, _PRECISION)
    return Fraction(high, 2**_PRECISION)


def _round_up(value: Fraction) -> Fraction:
    return Fraction(-(-value.numerator * _UNIT // value.denominator), _UNIT)


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
        mine, theirs = vars(self), vars(other)
        return RunningLoss(**{name: value + theirs[name] for name, value in mine.items()})

    def __sub__(self, other: RunningLoss) -> RunningLoss:
        mine, theirs = vars(self), vars(other)
        return RunningLoss(**{name: value - theirs[name] for name, value in mine.items()})

    def plus(self, loss: Loss) -> RunningLoss:
        """Return the sums with one more loss added: a BoundedRange to range_epsilon, range_delta
        and rho, others to epsilon and delta. This object stays as it is.
        """
        epsilon, delta = epsilon_of(loss), delta_of(loss)
        if isinstance(loss, BoundedRange):
            return self + RunningLoss(range_epsilon=epsilon, range_delta=delta, rho=rho_of(loss))
        return self + RunningLoss(epsilon=epsilon, delta=delta)


@dataclass(frozen=True, kw_only=True)
class PrivacyFilter:
    """A cap on the total loss, exact, and the filter that keeps it.

        epsilon + min(range_epsilon, conversion of rho at slack and `order`)
        delta + range_delta + (slack if rho > 0)

    slack: the part of delta that the conversion from zCDP uses; counted once, from the first
    bounded-range charge on. 0 means that such charges are added like all others.
    order: of that conversion; by default the one that fits the most rho under the cap.
    neighbors: of the cap, and of every charge; another is refused.

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
    neighbors: NeighboringRelation = ADD_OR_REMOVE_ONE

    def __post_init__(self) -> None:
        check_neighbors(self.neighbors)
        _check_magnitude("epsilon", positive_rational("epsilon", self.epsilon))
        for name in ("delta", "slack"):
            _check_magnitude(name, exact_rational(name, getattr(self, name)))
        if not 0 <= self.slack <= self.delta < 1:
            got = f"delta {self.delta}, slack {self.slack}"
            raise ParameterError("delta", got, "0 <= slack <= delta < 1")
        if self.slack and self.order is None:
            object.__setattr__(self, "order", _order_for(self.epsilon, self.slack))
        if self.order is not None and not (self.slack and self.order > 1):
            raise ParameterError("order", self.order, "above 1, and None without slack")

    def loss(self, spent: RunningLoss) -> ApproximateDP:
        """Return all that was spent as an ApproximateDP: epsilon + range_epsilon, or less where rho
        at slack and order converts to less than range_epsilon; and delta + range_delta, plus slack
        if both slack and rho are above 0.
        """
        ranged, delta = spent.range_epsilon, spent.delta + spent.range_delta
        if self.order and spent.rho:
            concentrated = concentrated_epsilon(spent.rho, self.slack, self.order)
            ranged = min(ranged, concentrated)
            delta += self.slack
        return ApproximateDP(spent.epsilon + ranged, delta, self.neighbors)

    def after(self, spent: RunningLoss, loss: Loss) -> RunningLoss:
        """Return `spent.plus(loss)`. Raises BudgetExceeded where the `loss` of these sums is above
        the cap, ParameterError for a loss out of range or under other neighbors.
        """
        if check_losses([loss]) is not self.neighbors:
            limit = f"{self.neighbors.name}, as the cap is: losses of two relations do not add"
            raise ParameterError("neighbors", loss.neighbors.name, limit)
        charged = spent.plus(loss)
        then = self.loss(charged)
        for measure in ("epsilon", "delta"):
            spends, cap = getattr(then, measure), getattr(self, measure)
            if spends > cap:
                had = getattr(self.loss(spent), measure)
                raise BudgetExceeded(
                    spends - had, had, cap, measure=measure, whose="data set's budget of"
                )
        return charged

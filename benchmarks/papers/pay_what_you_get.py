"""Durfee, Rogers 2019: composition of bounded-range mechanisms, and pay-what-you-get.

The figure of appendix A divides the optimal epsilon of k pure mechanisms (Murtagh, Vadhan 2016) by
the paper's bound for k bounded-range ones, at one delta. A ratio of 2 says that knowing the range
halves epsilon. Parameters are those of the authors' code (github rrogers386/DPComposition).

All is a closed form, but the run of the mechanism.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp, log, sqrt

import numpy as np
from benchmarks.papers.frame import Counts, Data, Line, Panel, Reproduction, short, zipf

from askew.dp.composition import concentrated_epsilon
from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.mechanisms import LimitedDomain
from askew_server.release.forecast import SimulatedBits

DELTA = 1e-6
FAMILIES = ((0.005, 0.01, 0.025, 0.05), (0.1, 0.25, 0.5, 1.0))
KS = (*range(1, 10), *range(10, 101, 3))
SHOWN = (10, 49, 100)
SEED = 1905


def optimal_pure(k: int, epsilon: float, delta: float) -> float:
    """Return the least epsilon of k (epsilon, 0)-DP mechanisms together at this delta, by
    bisection.

    delta(g) = sum over i of C(k, i) max(0, e^{i epsilon} - e^{g + (k - i) epsilon}) / (1 + e^eps)^k
    Source: Murtagh, Vadhan 2016, Theorem 1.4 (their formula for equal epsilons).
    """
    total = k * log(1 + exp(epsilon))
    logs = [log(comb(k, i)) - total for i in range(k + 1)]

    def lost(g: float) -> float:
        return sum(
            exp(logs[i] + i * epsilon) - exp(logs[i] + g + (k - i) * epsilon)
            for i in range(k + 1)
            if i * epsilon > g + (k - i) * epsilon
        )

    low, high = 0.0, k * epsilon
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if lost(middle) > delta else (low, middle)
    return high


def paper_bound(k: int, epsilon: float, delta: float) -> float:
    """Return the paper's epsilon for k bounded-range mechanisms: the least of three bounds."""
    deviation = epsilon * sqrt(k * log(1 / delta) / 2)
    old = k * epsilon * (exp(epsilon) - 1) / (exp(epsilon) + 1) + 2 * deviation
    return min(k * epsilon, old, k * epsilon**2 / 2 + deviation)


def our_bound(k: int, epsilon: float, delta: float) -> float:
    """Return that of `askew.dp.composition.zcdp`: rho = epsilon^2 / 8 each, or the sum where that
    is less.
    """
    rho = k * Fraction(epsilon).limit_denominator(10**6) ** 2 / 8
    converted = concentrated_epsilon(rho, Fraction(delta).limit_denominator(10**9))
    return min(k * epsilon, float(converted))


def composition(ks: tuple[int, ...]) -> tuple[list[Panel], list[list[str]]]:
    """Return appendix A: both families of epsilon; ours dashed."""
    panels, rows = [], [["epsilon", "k", "optimal pure", "the paper", "ratio", "ours", "ratio"]]
    for family in FAMILIES:
        lines = []
        for epsilon in family:
            pure = [optimal_pure(k, epsilon, DELTA) for k in ks]
            paper = [paper_bound(k, epsilon, DELTA) for k in ks]
            ours = [our_bound(k, epsilon, DELTA) for k in ks]
            for name, bound in (("", paper), (", ours", ours)):
                ratios = [of / by for of, by in zip(pure, bound, strict=True)]
                lines.append(Line(f"ε = {epsilon}{name}", ks, ratios, "--" if name else "-"))
            for at in (ks.index(k) for k in SHOWN if k in ks):
                first, second, third = pure[at], paper[at], ours[at]
                rows.append(
                    [
                        *map(str, (epsilon, ks[at])),
                        *map(short, (first, second, first / second, third, first / third)),
                    ]
                )
        title = f"ratio to optimal pure composition, δ = {DELTA:g}"
        panels.append(Panel(title, "k", "ratio", lines))
    return panels, rows


def ledger_of(vectors: list[Counts], budget: int, seed: int) -> list[list[int]]:
    """Return queries until `budget` outputs are spent: [released items, what pay-what-you-get
    charges].

    A query is only asked while its worst case, k outputs, still fits.
    """
    bits, spent, asked = SimulatedBits(seed), 0, []
    for counts in vectors:
        if spent + QUERY.k > budget:
            break
        answer = QUERY.select(counts, bits=bits)
        spent += answer.outputs
        asked.append([len(answer), answer.outputs])
    return asked


QUERY = LimitedDomain(
    k=10, kbar=100, epsilon=Fraction(1, 10), delta=Fraction(1, 10**9), neighbors=ADD_OR_REMOVE_ONE
)
BUDGET = 100


def run_of(data: Data) -> list[list[str]]:
    """Return the run: top 10 of many small shops, and of each vector there is, until 100 outputs
    are spent.
    """
    rows = [["counts", "queries if each costs k", "queries", "items released", "outputs charged"]]
    rng = np.random.default_rng(SEED)
    shops = [rng.poisson(zipf(5000, 400_000 * 0.7**i, 1.0)).astype(np.int64) for i in range(40)]
    vectors = {"made-up shops, each .7 of the one before": shops}
    for name, counts in data.counts.items():
        vectors[f"{name}, thinned to .7 again and again"] = [
            rng.binomial(counts, 0.7**i).astype(np.int64) for i in range(40)
        ]
    for name, all_of_them in vectors.items():
        asked = ledger_of(all_of_them, BUDGET, SEED)
        items, charged = (sum(column) for column in zip(*asked, strict=True))
        rows.append([name, *map(str, (BUDGET // QUERY.k, len(asked), items, charged))])
    return rows


def totals() -> list[list[str]]:
    """Return what the run costs together, by each rule; deltas of 40 queries at most are added."""
    epsilon = float(QUERY.epsilon)
    return [
        ["composition of 100 outputs at epsilon .1, δ' = 1e-6", "epsilon"],
        ["sum", short(BUDGET * epsilon)],
        ["optimal for pure mechanisms", short(optimal_pure(BUDGET, epsilon, DELTA))],
        ["the paper's", short(paper_bound(BUDGET, epsilon, DELTA))],
        ["ours", short(our_bound(BUDGET, epsilon, DELTA))],
    ]


def measure(data: Data) -> Reproduction:
    panels, rows = composition(KS)
    return Reproduction(
        tables={"composition": rows, "run-of-queries": run_of(data), "totals": totals()},
        pictures={"pay-what-you-get": panels},
        data=["none in the figure", *data.counts],
        seeds=[SEED],
    )

"""Shekelyan, Loukides 2022: the probability of a good set against epsilon.

The paper draws probabilities that it partly samples; here all are exact. CANONICAL: sums over
classes of subsets. ONESHOT and PEELING: `one_shot_law`. Qualities are the paper's TOP-k (the k
highest), GREAT-k and GOOD-k (the best 1 % of them, and none beyond rank 1.5 k). Relation:
add or remove one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import ceil, floor, log

import numpy as np
from benchmarks.papers.frame import (
    Counts,
    Data,
    Line,
    Panel,
    Reproduction,
    short,
    zipf,
)
from benchmarks.papers.one_shot_law import NOISES, OneShotLaw
from benchmarks.selection import films

from askew.dp.privacy import ADD_OR_REMOVE_ONE as ONE
from askew.mechanisms import Canonical
from askew.mechanisms.shortfall import log_binomials

TOP, GREAT, GOOD = (100, 100), (10, 110), (1, 150)  # percent of k: must be in, and none beyond
Quality = tuple[int, int]
Law = Callable[[float, Quality], float]
QUALITIES = {"TOP": TOP, "GREAT": GREAT, "GOOD": GOOD}
TOTAL = 15.0**7  # of the paper's Zipf data; its text says 1.5e8
LEVELS = (0.5, 0.99, 0.999)


def ranks(quality: Quality, k: int) -> Quality:
    """Return how many of the best must be selected, and the lowest rank that may be."""
    must, within = quality
    return ceil(must * k / 100), floor(within * k / 100)


def probability_of(made: Canonical, quality: Quality, falling: Counts) -> float:
    """Return the probability of a set of this quality, of falling counts: a sum over h, the ranks
    that it has from the first on, and t, its lowest; C(t-h-2, k-h-1) sets have both.
    """
    k, (must, within) = made.k, ranks(quality, made.k)
    top, within = made.probability_of_top(falling), min(within, len(falling))
    if within == k:
        return top
    h, t = np.arange(must, k)[:, None], np.arange(k + 1, within + 1)
    x, edge, gamma = falling.astype(np.float64), float(falling[k - 1]), float(made.gamma)
    lead = 0.0 if made.clipped else edge - x[k]
    losses = (1 - gamma) * (lead + x[h] - edge) + gamma * (edge - x[t - 1])
    n, r = np.broadcast_arrays(t - h - 2.0, k - h - 1.0)
    return top * float(1 + np.exp(log_binomials(n, r) - float(made.rate) * losses).sum())


def laws_of(falling: Counts, k: int) -> dict[str, Law]:
    """Return the paper's four mechanisms, and ours without the clip: epsilon, quality -> P."""
    shots = {
        "ONESHOT": OneShotLaw(falling, k, NOISES["exponential"]),
        "PEELING": OneShotLaw(falling, k, NOISES["Gumbel"]),
    }

    def canonical(gamma: Fraction, clipped: bool) -> Law:
        def law(epsilon: float, quality: Quality) -> float:
            made = Canonical(
                k=k,
                epsilon=Fraction(epsilon).limit_denominator(10**9),
                neighbors=ONE,
                gamma=gamma,
                clipped=clipped,
            )
            return probability_of(made, quality, falling)

        return law

    half = Fraction(1, 2)
    return {
        "CANONICAL": canonical(half, clipped=True),
        "CANONICAL gamma=1": canonical(Fraction(1), clipped=True),
        **{name: one_shot(shot, k) for name, shot in shots.items()},
        "ours: unclipped": canonical(half, clipped=False),
    }


def one_shot(shot: OneShotLaw, k: int) -> Law:
    """Return the law of one shot at epsilon / k a unit of count."""
    return lambda epsilon, quality: shot.probability(epsilon / k, *ranks(quality, k))


def epsilon_for(law: Law, probability: float, quality: Quality = TOP) -> float:
    """Return the least epsilon, to 1e-3 of it, by bisection of its logarithm; all of them rise."""
    low, high = log(1e-6), log(1e6)
    while high - low > 1e-3:
        middle = (low + high) / 2
        if law(float(np.exp(middle)), quality) < probability:
            low = middle
        else:
            high = middle
    return float(np.exp((low + high) / 2))


def against_epsilon(
    falling: Counts, k: int, title: str, points: int
) -> tuple[list[Panel], list[list[str]]]:
    """Return panels of TOP-k and, to k = 100, GOOD-k, and rows of the epsilon for some P."""
    laws = laws_of(falling, k)
    needs = {name: {p: epsilon_for(law, p) for p in LEVELS} for name, law in laws.items()}
    low = min(need[LEVELS[0]] for need in needs.values()) / 20
    high = max(need[LEVELS[-1]] for need in needs.values()) * 1.5
    epsilons = np.geomspace(low, high, points).tolist()
    panels = []
    for name in ("TOP", "GOOD") if k <= 100 else ("TOP",):
        quality = QUALITIES[name]
        lines = [
            Line(each, epsilons, [law(epsilon, quality) for epsilon in epsilons])
            for each, law in laws.items()
        ]
        panels.append(Panel(f"{title}: {name}-{k}", "ε", "probability", lines, log_x=True))
    peeling = needs["PEELING"][0.99]
    rows = [
        [title, str(k), name, *(short(need[p]) for p in LEVELS), short(peeling / need[0.99])]
        for name, need in needs.items()
    ]
    return panels, rows


def against_zipf(ks: Iterable[int], points: int) -> list[Panel]:
    """Return panels of the paper's synthetic data: 10,000 items by Zipf's law, epsilon 1, against
    its exponent.
    """
    exponents = np.linspace(0.02, 1.0, points).tolist()
    panels = []
    for k in ks:
        ys: dict[str, list[float]] = {}
        for exponent in exponents:
            for name, law in laws_of(zipf(10_000, TOTAL, exponent), k).items():
                ys.setdefault(name, []).append(law(1.0, TOP))
        lines = [Line(name, exponents, values) for name, values in ys.items()]
        panels.append(Panel(f"ZIPFIAN, ε = 1: TOP-{k}", "Zipf's exponent", "probability", lines))
    return panels


def noise_families(falling: Counts, k: int, title: str, points: int) -> tuple[Panel, list[str]]:
    """Return a panel and a row of one shot with each noise that the mechanism allows."""
    shots = {name: OneShotLaw(falling, k, noise) for name, noise in NOISES.items()}
    laws = {name: one_shot(shot, k) for name, shot in shots.items()}
    needs = {name: epsilon_for(law, 0.999) for name, law in laws.items()}
    epsilons = np.geomspace(min(needs.values()) / 30, max(needs.values()) * 1.3, points).tolist()
    lines = [Line(name, epsilons, [law(e, TOP) for e in epsilons]) for name, law in laws.items()]
    panel = Panel(f"{title}: TOP-{k}, one shot", "ε", "probability", lines, log_x=True)
    return panel, [title, str(k), *(short(needs[name]) for name in NOISES)]


def measure(data: Data) -> Reproduction:
    points = 21
    made = {"made-up films": films(), "ZIPFIAN": zipf(10_000, TOTAL, 0.04)}
    real = data.named("netflix", "patent", "hepth", "medcost")
    pictures: dict[str, list[Panel]] = {}
    rows = [["counts", "k", "mechanism", *(f"P = {p}" for p in LEVELS), "PEELING over it, .99"]]
    families = [["counts", "k", *NOISES]]
    noise_panels = []
    for title, counts in {**made, **{name.upper(): each for name, each in real.items()}}.items():
        falling = np.sort(counts)[::-1]
        large = len(falling) > 10_000
        panels: list[Panel] = []
        for k in (10, 100, 1000) if large else (10, 100):
            if falling[k - 1] == falling[k]:
                continue  # a tie: no mechanism can know which set is meant
            more, more_rows = against_epsilon(falling, k, title, points)
            panels += more
            rows += more_rows
        if panels:
            pictures["canonical-" + title.lower().replace(" ", "-")] = panels
        if title in ("made-up films", "NETFLIX", "ZIPFIAN"):
            for k in (1, 10, 100):
                panel, row = noise_families(falling, k, title, points)
                families.append(row)
                noise_panels.append(panel)
    pictures["canonical-noise"] = noise_panels
    pictures["canonical-against-zipf"] = against_zipf((10, 100), points)
    return Reproduction(
        tables={"needed": rows, "noise": families},
        pictures={name: panels for name, panels in pictures.items() if panels},
        data=["made-up films (17,770 items)", "ZIPFIAN by its formula (10,000)", *real],
    )

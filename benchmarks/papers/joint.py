"""Gillenwater, Joseph, Muñoz Medina, Ribero 2022: errors of ranked top-k.

Drawn is what the authors' public code draws (google-research/dp_topk): three errors of the selected
counts against k = 5, 25, .. 185 at epsilon 1 and delta 1e-6, 50 trials, quartiles; the gaps between
neighboring counts. Relation: add or remove one.

The law of JOINT's k-relative error is exact besides. A sequence whose items all have counts of at
least c_k - e is one over fewer items, so the probability is a ratio of two sums of weights:

    sum over losses l of exp(-rate l) (N(l) - N(l - 1)),   N(l) = product over r of (t_r(l) - r)

with t_r(l) the number of items of count at least c_(r) - l, among all items or among those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import exp, inf, log, sqrt
from typing import Protocol

import numpy as np
from benchmarks.papers.frame import (
    Counts,
    Data,
    Floats,
    Line,
    Panel,
    Reproduction,
    short,
)

from askew.dp.privacy import ADD_OR_REMOVE_ONE as ONE
from askew.mechanisms import ConcentratedPeeling, Joint, Peeling, PermuteAndFlip
from askew.mechanisms.tally import Tally
from askew.noise.randomness import RandomBits
from askew_server.release.forecast import SimulatedBits

EPSILON, DELTA, SEED = 1, Fraction(1, 10**6), 2201
KS = tuple(range(5, 205, 20))


def shortfalls(selected: Sequence[int], counts: Counts) -> Counts:
    """Return the count at each rank less that of the item selected for it, in that order."""
    short: Counts = Tally(counts, 1).top(len(selected)) - np.asarray(counts)[np.asarray(selected)]
    return short


def k_relative_error(selected: Sequence[int], counts: Counts) -> int:
    """Return the k-th highest count less the lowest selected one; 0 exactly for a true top k."""
    lowest = np.asarray(counts)[np.asarray(selected)].min()
    return int(Tally(counts, 1).value_at(len(selected) - 1) - lowest)


ERRORS: Mapping[str, Callable[[Sequence[int], Counts], int]] = {
    "l_inf": lambda selected, counts: int(shortfalls(selected, counts).max()),
    "l_1": lambda selected, counts: int(np.abs(shortfalls(selected, counts)).sum()),
    "k-relative": k_relative_error,
}
APPENDIX_D = ((10, 5, 1, 1), (30, 15, *[1] * 998))


class Selects(Protocol):
    def select(self, counts: Counts, *, bits: RandomBits) -> tuple[int, ...]: ...


def paper_rate(k: int, epsilon: float, delta: float) -> float:
    """Return the epsilon of a round of CDP-PEEL: all k rounds are (epsilon, delta)-DP, by the
    paper's formula.

    sqrt(8 (ln(1 / delta) + epsilon) / k) - sqrt(8 ln(1 / delta) / k), or epsilon / k if more.
    """
    room = log(1 / delta)
    return max(sqrt(8 * (room + epsilon) / k) - sqrt(8 * room / k), epsilon / k)


def mechanisms(k: int) -> dict[str, Selects]:
    """Return the three that the authors' script compares; CDP-PEEL at the paper's rate."""
    rate = Fraction(paper_rate(k, EPSILON, float(DELTA))).limit_denominator(10**9)
    return {
        "JOINT": Joint(k=k, epsilon=EPSILON, neighbors=ONE),
        "CDP-PEEL": Peeling(k=k, epsilon=k * rate, neighbors=ONE),
        "PNF-PEEL": PermuteAndFlip(k=k, epsilon=EPSILON, neighbors=ONE),
    }


def log_weight(falling: Counts, k: int, rate: float, items: int) -> float:
    """Return ln of the weight of all sequences of the first `items` items; see the module."""
    inside = falling[:items]
    # A loss matters only where some rank may hold more: at the differences of counts.
    losses = np.unique((falling[:k, None] - inside[None, :]).ravel())
    losses = losses[(losses >= 0) & (losses <= (60 + 2 * k * log(len(falling))) / rate)]
    reach = np.searchsorted(-inside, losses[:, None] - falling[None, :k], side="right")
    room = np.maximum(reach - np.arange(k), 0)
    with np.errstate(divide="ignore"):
        upto = np.log(room).sum(axis=1)
    before = np.concatenate(([-inf], upto[:-1]))
    with np.errstate(divide="ignore", invalid="ignore"):
        classes = np.where(upto > before, upto + np.log1p(-np.exp(before - upto)), -inf)
    return float(np.logaddexp.reduce(classes - rate * losses))


def joint_k_relative(falling: Counts, k: int, rate: float, at: Sequence[float]) -> list[int]:
    """Return quantiles of JOINT's k-relative error, exact, by bisection over what it may hold."""
    whole = log_weight(falling, k, rate, len(falling))
    ends = np.flatnonzero(np.append(np.diff(falling), -1)[k - 1 :]) + k  # where a count ends
    found = []
    for level in at:
        low, high = 0, len(ends) - 1
        while low < high:
            middle = (low + high) // 2
            inside = log_weight(falling, k, rate, int(ends[middle])) - whole
            low, high = (low, middle) if inside >= log(level) - 1e-9 else (middle + 1, high)
        found.append(int(falling[k - 1] - falling[ends[low] - 1]))
    return found


def errors(
    counts: Counts, title: str, ks: Sequence[int], trials: int
) -> tuple[list[Panel], list[list[str]]]:
    """Return panels and rows of medians and quartiles of each error; one more is drawn, as in the
    authors' code.
    """
    bits, falling = SimulatedBits(SEED), np.sort(counts)[::-1]
    found: dict[tuple[str, str], list[Floats]] = {}
    exact = []
    for k in ks:
        for name, made in mechanisms(k).items():
            chosen = [made.select(counts, bits=bits) for _ in range(trials)]
            for error, measured in ERRORS.items():
                values = [measured(each, counts) for each in chosen]
                found.setdefault((error, name), []).append(np.quantile(values, [0.25, 0.5, 0.75]))
        exact.append(joint_k_relative(falling, k, EPSILON / 2, (0.5,))[0])
    panels = []
    for error in ERRORS:
        lines = []
        for name in ("JOINT", "CDP-PEEL", "PNF-PEEL"):
            of = np.array(found[error, name]) + 1
            lines += [Line(name, ks, of[:, 1].tolist())]
            lines += [Line(f"{name}, quartile", ks, of[:, q].tolist(), ":") for q in (0, 2)]
        if error == "k-relative":
            lines.append(Line("JOINT, exact median", ks, [each + 1 for each in exact], "o"))
        panels.append(Panel(f"{title}: {error} error", "k", "error + 1", lines, log_y=True))
    rows = []
    for at in sorted({ks.index(k) for k in (5, 25, 105, 185) if k in ks}):
        medians = [
            short(float(found[error, name][at][1]))
            for error in ERRORS
            for name in ("JOINT", "CDP-PEEL", "PNF-PEEL")
        ]
        rows.append([title, str(ks[at]), *medians, str(exact[at])])
    return panels, rows


def gaps(vectors: Mapping[str, Counts], most: int) -> list[Panel]:
    """Return panels of the gaps between counts k and k + 1, and of all counts by rank."""
    lines, spread = [], []
    ks = [*range(5, most + 1, 5)]
    for title, counts in vectors.items():
        falling = np.sort(counts)[::-1]
        lines.append(Line(title, ks, [float(falling[k - 1] - falling[k] + 1) for k in ks]))
        ranks = np.unique(np.geomspace(1, len(falling), 60).astype(int))
        spread.append(Line(title, ranks.tolist(), (falling[ranks - 1] + 1).tolist()))
    return [
        Panel("count k less count k + 1", "k", "gap + 1", lines, log_y=True),
        Panel("counts in falling order", "rank", "count + 1", spread, log_x=True, log_y=True),
    ]


def appendix_d() -> list[list[str]]:
    """Return the two examples that the paper gives values for, by our mechanisms' own weights."""
    paper = {"JOINT": (".63", ".34"), "PNF-JOINT": (".75", ".44")}
    rows = [["Appendix D: P(items 1, 2 in order), k = 2, ε = 1", "the paper", "exact"]]
    for i, counts in enumerate(APPENDIX_D):
        named = "(10, 5, 1, 1)" if i == 0 else "(30, 15, 1, .., 1), d = 1000"
        for name, law in (("JOINT", joint_top), ("PNF-JOINT", pnf_joint_top)):
            rows.append([f"{name}, {named}", paper[name][i], f"{law(counts, 2, 0.5):.9f}"])
    return rows


def joint_top(counts: Sequence[int], k: int, rate: float) -> float:
    """Return P(the top k in order) of JOINT, where the k + 1 highest counts differ."""
    falling = np.sort(np.array(counts))[::-1]
    return exp(-log_weight(falling, k, rate, len(falling)))


def pnf_joint_top(counts: Sequence[int], k: int, rate: float) -> float:
    """Return the same of PNF-JOINT: exponential noise for each sequence, the best wins.

    The top sequence has score 0 + Z. It wins where all others, at -rate l + Z', are lower:
    P = integral of e^{-z} product over l of (1 - e^{-z - rate l})^{n(l)} over z > 0.
    """
    falling = np.sort(np.array(counts))[::-1]
    losses = np.unique((falling[:k, None] - falling[None, :]).ravel())
    losses = losses[losses >= 0]
    reach = np.searchsorted(-falling, losses[:, None] - falling[None, :k], side="right")
    upto = np.prod(np.maximum(reach - np.arange(k), 0).astype(np.float64), axis=1)
    sizes = np.diff(upto, prepend=0.0)
    sizes[0] -= 1  # the top itself
    u = (np.arange(200_000) + 0.5) / 200_000  # u = e^{-z}
    with np.errstate(divide="ignore"):
        logs = sum(
            size * np.log1p(-u * exp(-rate * loss))
            for size, loss in zip(sizes, losses.tolist(), strict=True)
        )
    return float(np.exp(logs).mean())


def rates() -> list[list[str]]:
    """Return rows of CDP-PEEL's epsilon a round: the paper's formula and what ours allows."""
    rows = [["k", "the paper's epsilon a round", "`ConcentratedPeeling`", "ratio"]]
    for k in (10, 50, 200):
        made = ConcentratedPeeling(k=k, epsilon=EPSILON, delta=DELTA, neighbors=ONE)
        theirs, ours = paper_rate(k, EPSILON, float(DELTA)), float(made.epsilon_per_round)
        rows.append([str(k), f"{theirs:.6f}", f"{ours:.6f}", short(ours / theirs)])
    return rows


def made_up() -> dict[str, Counts]:
    """Counts of the paper's sizes: a power law for each, flat at the head."""
    rng = np.random.default_rng(SEED)

    def shape(items: int, highest: float, flat: float, exponent: float) -> Counts:
        ranks = np.arange(1, items + 1)
        falling = highest * ((1 + flat) / (ranks + flat)) ** exponent
        return rng.permutation(rng.poisson(falling)).astype(np.int64)

    return {
        "made-up games": shape(5_000, 5_000, 5, 1.1),
        "made-up books": shape(11_000, 4_500_000, 5, 1.2),
    }


def measure(data: Data) -> Reproduction:
    real = data.named("books_v1", "games_play", "news_subset", "movielens")
    vectors = {**made_up(), **real}
    pictures: dict[str, list[Panel]] = {"joint-gaps": gaps(vectors, 200)}
    head = [f"{error} {name}" for error in ERRORS for name in ("JOINT", "CDP", "PNF")]
    rows = [["counts", "k", *head, "k-relative JOINT, exact"]]
    for title, counts in vectors.items():
        panels, more = errors(counts, title, KS, 50)
        pictures["joint-" + title.replace(" ", "-").replace("_", "-")] = panels
        rows += more
    return Reproduction(
        tables={
            "errors": rows,
            "appendix-d": appendix_d(),
            "rates": rates(),
        },
        pictures=pictures,
        data=[f"{title} ({len(counts):,} items)" for title, counts in vectors.items()],
        seeds=[SEED],
    )

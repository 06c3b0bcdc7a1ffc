"""What one answer costs the server: CPU time of the rules with a prior, beside a bare numpy pass.

    .venv/bin/python benchmarks/server_step.py

A prior of simulated people with a pool of 500 items, epsilon 1 and 2 signal dimensions, one thread.
The floor is one weighted sum over the prior's table, which any rule that looks at all of it needs.
For a prior of 100,000 points the rule looks at 4,096 of them: the loss is in units of what the
whole prior achieves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew.retrieval.posterior import PosteriorRule, Prior, cover, covered, lattice_log_likelihood

ITEMS, ROUNDS, FEW = 500, 40, 5


def made_prior(people: int, rng: np.random.Generator) -> Prior:
    """Scores fall off with the distance of a taste from an item; a tenth is seen."""
    points = 3 * rng.random((people, 2))
    places = 3 * rng.random((ITEMS, 2))
    scores = np.empty((ITEMS, people), np.float32)
    for row, place in zip(scores, places, strict=True):
        row[:] = np.exp(-np.abs(points - place).sum(axis=1) + rng.normal(0, 0.5, people))
        row[rng.random(people) < 0.1] = 0
    return Prior(points, scores, np.arange(ITEMS), np.ones(people))


def median_ms(step: Callable[[int], object], rounds: int = ROUNDS) -> float:
    """The median CPU time of a step, in milliseconds, after one warm-up."""
    step(0)
    spent = []
    for number in range(rounds):
        start = time.process_time_ns()
        step(number)
        spent.append(time.process_time_ns() - start)
    return float(np.median(spent)) / 1e6


def answer_ms(rule: PosteriorRule, signals: list[Signal], k: int) -> float:
    return median_ms(lambda number: rule.answer(signals[number], k), len(signals))


def main() -> None:
    rng = np.random.default_rng(5)
    lattice = LatticeLaplace.for_epsilon(Fraction(1))
    places = rng.normal(1.5, 1.5, (ROUNDS, 2)) / lattice.step
    signals = [Signal("00" * 16, lattice, tuple(map(int, place))) for place in places]
    prior = made_prior(4000, rng)
    light = prior.weights.astype(np.float32)
    shared = cover(prior.scores, light, 20)
    rule = PosteriorRule(prior, shared)
    print(
        f"floor, one pass over 4,000 x {ITEMS}: {median_ms(lambda _: prior.scores @ light):.2f} ms"
    )
    logs = median_ms(
        lambda n: prior.posterior(lattice_log_likelihood(lattice, signals[n].values, prior.points))
    )
    print(f"posterior weights of 4,000 points: {logs:.2f} ms")
    for k in (5, 20):
        spent = answer_ms(rule, signals, k)
        print(f"answer, 4,000 points, k={k}: {spent:.2f} ms")
    large = made_prior(100_000, rng)
    part, whole = PosteriorRule(large, shared), PosteriorRule(large, shared, limit=len(large))
    for k in (5, 20):
        spent = answer_ms(part, signals[:10], k)
        losses = []
        for signal in signals[:FEW]:
            weights = large.posterior(lattice_log_likelihood(lattice, signal.values, large.points))
            chosen = (each.choose(weights, k)[0] for each in (part, whole))
            found, best = (covered(large.scores, weights.astype(np.float32), c) for c in chosen)
            losses.append(1 - found / best)
        print(f"answer, 100,000 points, k={k}: {spent:.1f} ms, loses {np.mean(losses):.2%}")


if __name__ == "__main__":
    main()

"""What people kept aside get by signals that are answered as the server answers them.

    geo_laplace   a point's noise is drawn once for each person, and each noisy point is answered
    bucket_rr     the expectation over all lies, exactly: P(b | l(p)) times what slate b gives p

so that a difference of two rows is a difference for the same people, and for points by the same
noise for every k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from askew.lattice import Lattice
from askew.meanings import Meanings
from askew.model_card import Catalog
from askew.randomized_response import RandomizedResponse
from askew.retrieval import RetrievalRule
from askew.retrieval.likelihood import lattice_log_likelihood, response_log_odds
from askew.retrieval.posterior import PosteriorRule, Prior
from askew.signal import Signal
from askew.taste_buckets import Buckets
from askew_server.model.kept_aside import Gains, KeptAside
from askew_server.prior.people import names_of
from askew_server.training.simulated_noise import lattice_signals

NO_VERSION = "00" * 16  # nobody receives these signals
LIMIT = 512  # people of a prior that an answer weighs here; a server weighs more, and does better


def by_point(  # noqa: PLR0913
    people: KeptAside,
    rule: RetrievalRule,
    prior: Prior | None,
    lattice: Lattice,
    sizes: Sequence[int],
    *,
    rng: np.random.Generator,
) -> Mapping[int, Gains]:
    """What each has by one noisy point, for each k, (n,). prior: of a rule that weighs one."""
    signals = lattice_signals(lattice, people.points, rng).tolist()
    found: dict[int, list[Sequence[int]]] = {k: [] for k in sizes}
    for values in signals:
        slates = by_sizes(rule, prior, Signal(NO_VERSION, lattice, tuple(values)), sizes)
        for k, slate in zip(sizes, slates, strict=True):
            found[k].append(slate)
    return {k: people.served_each(np.array(slates)) for k, slates in found.items()}


def by_bucket(  # noqa: PLR0913, PLR0917
    people: KeptAside,
    rule: RetrievalRule,
    buckets: Buckets | Meanings,
    response: RandomizedResponse,
    sizes: Sequence[int],
    catalog: Catalog,
) -> Mapping[int, Gains]:
    """What each has by one noisy bucket in expectation, for each k, (n,)."""
    signals = [Signal(NO_VERSION, response, (b,)) for b in range(len(buckets))]
    label = names_of(buckets, people.tastes, people.seen, catalog)
    return {
        k: expected(people, [rule.answer(signal, k) for signal in signals], label, response)
        for k in sizes
    }


def expected(
    people: KeptAside,
    slates: Sequence[Sequence[int]],
    label: NDArray[np.int64],
    response: RandomizedResponse,
) -> Gains:
    """The mean over the lies of people with these buckets (n,), of M slates of items, (n,)."""
    served = np.stack([people.served(slate) for slate in slates], axis=1)  # (n, M)
    own, other = np.exp(response_log_odds(response))
    truth = served[np.arange(len(served)), label]
    mean: Gains = (own - other) * truth + other * served.sum(axis=1)
    return mean


def by_sizes(
    rule: RetrievalRule, prior: Prior | None, signal: Signal, sizes: Sequence[int]
) -> list[Sequence[int]]:
    """The items that a rule answers a signal with, for each k, in any order. prior: of a rule that
    weighs one.
    """
    if isinstance(rule, PosteriorRule) and prior is not None:  # every k by one choice
        weights = prior.posterior(
            lattice_log_likelihood(signal.lattice, signal.values, prior.points)
        )
        return [prior.items[rows].tolist() for rows in rule.choose(weights, *sizes)]
    return [rule.answer(signal, k) for k in sizes]

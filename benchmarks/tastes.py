"""What a signal of tastes is worth to people held out, beside what sends nothing.

    python -m benchmarks.report --only utility [--ratings NAME=PATH]

People are dealt 66 : 17 : 17 to the server (the model is made of them), to validation (chooses the
parameters of plain recommenders) and to clients (are measured, and nothing else), by what they
liked of a part of their ratings that neither the model nor their device has seen. Without a file,
ratings are SIMULATED. Nothing is sent, and a device ranks what it holds:

all          every item is held; `first N`, the first N of what would be shown to anybody
popularity, popular-200, item-kNN, EASE
             plain recommenders (`benchmarks.baselines.recommenders`)

Every client sends one noisy signal, gets a slate of every k from it, and ranks that:

none         the zero-information slate. Everybody's is the same; no signal
naive        the k best items for the taste that the signal decodes to
codebook     as served (`askew.offset_rule`)
held N       as served, beside the first N of the items that devices hold

best is the measure of arXiv:2504.07403: the score of the best item of a slate by the client's own
taste, as a share of that of the best item of all.

Epsilons are of one rating. The figures of docs/utility.md are of `measured`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from benchmarks.baselines.recommenders import evaluate_baselines, most_liked
from numpy.typing import NDArray

from askew.errors import DataError
from askew.noise.lattice import LatticeLaplace
from askew.offset_rule import OffsetRule
from askew_server.ratings import RatingTable, titled
from askew_server.taste.evaluation import HELD, Evaluation, simulate_signals
from askew_server.taste.measures import Accuracy, Estimate, Gains, Items, mean_with_error
from askew_server.taste.model import FittedModel
from askew_server.taste.options import TrainingOptions
from askew_server.taste.shared_slate import shared_slate

SHARES = Fraction(66, 100), Fraction(17, 100)  # of the server and of validation
SHARED = (8, 25, 64, 200)
_MOST_SHARED = 256
_LEAST_PEOPLE = 20
EPSILONS = 0.4, 0.8, 1.0, 2.0
Label = tuple[str, int, float]
"""A rule, k, or 0 where nothing is asked, and an epsilon of one rating, or 0 of no signal."""


def deal(n_people: int, seed: int) -> Sequence[NDArray[np.int64]]:
    """Return the rows of the server's people, of validation's and of clients. Raises DataError for
    too few.
    """
    first = round(SHARES[0] * n_people)
    order = np.random.default_rng([seed, 1]).permutation(n_people)
    parts = [
        np.sort(part) for part in np.split(order, [first, first + round(SHARES[1] * n_people)])
    ]
    if min(map(len, parts)) < _LEAST_PEOPLE:
        raise DataError(f"{n_people} people are too few to split; 120 would do")
    return parts


@dataclass(frozen=True, eq=False)
class Run:
    """One seed's part of a cell: what clients got, and what the slate of no signal gives them."""

    got: Accuracy
    none: Accuracy
    best: Gains | None = None


@dataclass(frozen=True, eq=False)
class Cell:
    """A label with the figures of all seeds. gain: the paired difference of NDCG@10 to the
    zero-information slate of the same k. worse, better: how many people have less or more of it.
    """

    label: Label
    n_clients: int
    ndcg: Estimate
    recall: Estimate
    gain: Estimate
    best: Estimate
    worse: int
    better: int

    @classmethod
    def of(cls, label: Label, runs: Sequence[Run]) -> Cell:
        """Merge all seeds: clients count alike; who is one in several makes errors a bit small."""
        ndcg = np.concatenate([run.got.ndcg for run in runs])
        recall = np.concatenate([run.got.recall for run in runs])
        gain = ndcg - np.concatenate([run.none.ndcg for run in runs])
        worse, better = int((gain < 0).sum()), int((gain > 0).sum())
        best = np.concatenate([[] if run.best is None else run.best for run in runs])
        figures = (
            mean_with_error(ndcg),
            mean_with_error(recall),
            mean_with_error(gain),
            mean_with_error(best),
        )
        return cls(label, len(ndcg), *figures, worse, better)


def measured(
    table: RatingTable,
    *,
    seeds: Sequence[int] = (0, 1, 2),
    epsilons: Sequence[float] = EPSILONS,
    ks: Sequence[int] = (1, 5, 20),
    progress: Callable[[str], object] = lambda _: None,
) -> list[Cell]:
    """Return the cells, by epsilon. Deterministic. Raises DataError for too few people or items."""
    runs: dict[Label, list[Run]] = defaultdict(list)
    for seed in seeds:
        progress(f"seed {seed}")
        for label, run in _of_a_seed(table, seed, epsilons, ks):
            runs[label].append(run)
    return [Cell.of(label, found) for label, found in sorted(runs.items(), key=lambda r: r[0][2])]


def _of_a_seed(
    table: RatingTable, seed: int, epsilons: Sequence[float], ks: Sequence[int]
) -> Iterator[tuple[Label, Run]]:
    server, *others = (table.only(rows) for rows in deal(table.n_people, seed))
    rows = {key: titled(key) for key in table.item_keys}
    options = TrainingOptions(seed=seed)
    draft = FittedModel.of(server, rows, options, None, lambda _: None)
    validation, clients = (draft.held_out(part) for part in others)
    likes, shared = draft.items.people.likes, draft.catalog.shared_slate
    met = evaluate_baselines(likes, validation.people, clients.people)
    met["popular-200"] = clients.people.evaluate(clients.scorer, most_liked(likes))
    met["all"] = clients.people.evaluate(clients.whole_scorer)
    order = order_for_everybody(draft)
    met |= {
        f"first {n}": clients.people.evaluate(clients.scorer, order[:n])
        for n in SHARED
        if n <= len(order)
    }
    for name, got in met.items():
        yield (name, 0, 0.0), Run(got, got)
    best_held = clients.rank_first(draft.n_held)
    none = {
        k: clients.evaluate_slates(best_held, np.array(shared[:k])) for k in ks if k <= len(shared)
    }
    for k, got in none.items():
        same = np.tile(np.array(shared[:k]), (len(clients.people), 1))
        yield ("none", k, 0.0), Run(got, got, best_share(clients, same))
    for epsilon in epsilons:
        lattice = LatticeLaplace.for_epsilon(Fraction(str(epsilon)))
        for name, rule in (("naive", naive), ("codebook", offsets)):
            for k, slates in rule(draft, clients, lattice, list(none)).items():
                asked = clients.evaluate_slates(best_held, slates)
                run = Run(asked, none[k], best_share(clients, slates))
                yield (name, k, epsilon), run
    if not draft.n_held:  # devices hold all in any order
        draft = draft.in_device_order()
    yield from _held_and_asked(draft, draft.held_out(others[1]), epsilons, max(none))


def _held_and_asked(
    draft: FittedModel, clients: Evaluation, epsilons: Sequence[float], k: int
) -> Iterator[tuple[Label, Run]]:
    """What clients have who hold the first items and rank them with k others."""
    scoring, rng = draft.items.scoring, np.random.default_rng([draft.items.options.seed, 12])
    for held in (n for n in HELD if n + k <= len(scoring)):
        best_held = clients.rank_first(held)
        alone = clients.people.evaluate(clients.scorer, np.arange(held))
        shared = shared_slate(draft.tastes, scoring, rng, held, most=k)
        none = clients.evaluate_slates(best_held, np.array(shared))
        yield (f"held {held}", 0, 0.0), Run(alone, alone)
        yield (f"held {held}", k, 0.0), Run(none, alone)
        rule = OffsetRule(draft.space.encoder, scoring, held=held)
        for epsilon in epsilons:
            lattice = LatticeLaplace.for_epsilon(Fraction(str(epsilon)))
            slates = clients.ask(rule, lattice, [k], _noise(draft))[k]
            asked = clients.evaluate_slates(best_held, slates)
            yield (f"held {held}", k, epsilon), Run(asked, none)


def best_share(clients: Evaluation, slates: Items) -> Gains:
    """Return the best unseen score of each slate (n, k), as a share of the best of all, (n,)."""
    scores = clients.scorer(clients.people.likes)
    scores[clients.people.seen.toarray() > 0] = -np.inf
    best: Gains = np.take_along_axis(scores, slates, axis=1).max(axis=1) / scores.max(axis=1)
    return np.maximum(best, 0)


def order_for_everybody(draft: FittedModel) -> NDArray[np.int64]:
    """Return the items held, the shared slate, and what one would show to anybody after those."""
    catalog, held = draft.catalog, draft.n_held
    rng = np.random.default_rng([draft.items.options.seed, 12])
    more = shared_slate(draft.tastes, catalog.scoring, rng, held, most=_MOST_SHARED)
    known = set(catalog.shared_slate)
    further = [item for item in more if item not in known]
    return np.array([*range(held), *catalog.shared_slate, *further], dtype=np.int64)


def naive(
    draft: FittedModel, clients: Evaluation, lattice: LatticeLaplace, ks: Sequence[int]
) -> Mapping[int, Items]:
    """Answer with the k best items, beyond those held, for the taste that the signal decodes to."""
    points = simulate_signals(lattice, clients.points, _noise(draft)) * lattice.step
    scoring, held = draft.catalog.scoring, draft.n_held
    slates = np.empty((len(points), max(ks)), dtype=np.int64)
    for row, taste in enumerate(draft.space.encoder.decode(points.astype(np.float64))):
        best = np.argsort(-(scoring[held:] @ taste), kind="stable")
        slates[row] = held + best[: max(ks)]
    return {k: slates[:, :k] for k in ks}


def offsets(
    draft: FittedModel, clients: Evaluation, lattice: LatticeLaplace, ks: Sequence[int]
) -> Mapping[int, Items]:
    """Answer as a server does, to the same noise."""
    rule = OffsetRule(draft.space.encoder, draft.catalog.scoring, held=draft.n_held)
    return clients.ask(rule, lattice, ks, _noise(draft))


def _noise(draft: FittedModel) -> np.random.Generator:
    return np.random.default_rng([draft.items.options.seed, 4])  # simulated: protects nobody

"""One deal of the people, from a seed: a model of some of them, and others who are measured.

People are dealt 66 : 17 : 17 to the server (everything is made of them, and they are the prior; a
rule may look at nobody else), to validation (chooses among designs) and to clients (are measured,
and nothing else). The model is what `train` makes of the server's people, and clients are measured
as it measures people held out (`askew_server.taste.model.held_out`): by what they liked of a part
of their ratings that neither the model nor their device has seen. That part is about a fifth of
each person's ratings, by chance, or with `latest` their last fifth. Then everybody's own future is
held out, but what the server's people did later than a client still trains the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.errors import DataError
from askew.retrieval.posterior import Prior
from askew.spaces.encoder import Encoder
from askew_server.ratings import RatingTable, titled
from askew_server.taste.model.held_out import Groups, HeldOutGroup
from askew_server.taste.model.item_model import Draft
from askew_server.taste.prior.people import PriorPeople
from askew_server.taste.training.factors import Histories, divided
from askew_server.taste.training.item_vectors import LearnedVectors, people_by_key
from askew_server.taste.training.options import TrainingOptions, dimension_for

SERVER_SHARE, VALIDATION_SHARE = Fraction(66, 100), Fraction(17, 100)
HeldOut = Literal["random", "latest"]
HELD_OUTS: tuple[HeldOut, ...] = get_args(HeldOut)
_LAST = 5  # one of so many ratings
_LEAST_PEOPLE = 20
_DIMENSIONS = (1, 2, 4, 8)
_SAMPLE = 0  # the seed of a sample of people; those of a study deal them


def sampled(table: RatingTable, n_people: int) -> RatingTable:
    """The ratings of so many people, or of all where there are fewer: each as likely as any other,
    and the same ones each time. Items stay, also those that nobody of them rated.
    """
    return table.only(np.random.default_rng(_SAMPLE).permutation(table.n_people)[:n_people])


def deal(n_people: int, seed: int) -> Sequence[NDArray[np.int64]]:
    """The rows of the server's people, of validation's and of clients. Raises DataError for too
    few.
    """
    first = round(SERVER_SHARE * n_people)
    second = first + round(VALIDATION_SHARE * n_people)
    order = np.random.default_rng([seed, 1]).permutation(n_people)
    parts = [np.sort(part) for part in np.split(order, [first, second])]
    if min(map(len, parts)) < _LEAST_PEOPLE:
        raise DataError(f"{n_people} people are too few to split; 120 would do")
    return parts


def latest(table: RatingTable) -> NDArray[np.bool_]:
    """Whether a rating is of the last fifth of its person's, rounded down. Raises DataError where
    not every rating has a time.
    """
    if table.time is None or not np.isfinite(table.time).all():
        raise DataError(
            "not every rating has a time: the latest can be held out where the file of ratings has "
            "a column timestamp of numbers"
        )
    chance = np.random.default_rng(_SAMPLE).random(len(table))
    order = np.lexsort((chance, table.time, table.person))
    counts = np.bincount(table.person)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rank = np.empty(len(table), dtype=np.int64)
    rank[order] = np.arange(len(table)) - first[table.person[order]]
    late: NDArray[np.bool_] = rank >= (counts - counts // _LAST)[table.person]
    return late


def shown_and_liked(
    people: RatingTable, draft: Draft, held_out: HeldOut
) -> tuple[Histories, csr_array]:
    """What devices know of these people, and what they liked of the rest; in a draft's items."""
    told = draft.told
    if held_out == "random":
        return divided(people_by_key(people, told.keys, told.scale), told.options.seed)
    late = latest(people)
    early, rest = (
        people_by_key(
            replace(
                people,
                person=people.person[rows],
                item=people.item[rows],
                rating=people.rating[rows],
                time=None,
            ),
            told.keys,
            told.scale,
        )
        for rows in (~late, late)
    )
    return early, rest.likes


@dataclass(frozen=True, eq=False)
class Experiment:
    """A deal with its model, whose space suits some signal. server: its people as a prior."""

    draft: Draft
    server: PriorPeople = field(repr=False)
    validation: HeldOutGroup = field(repr=False)
    clients: HeldOutGroup = field(repr=False)

    @classmethod
    def of(
        cls, table: RatingTable, seed: int, min_ratings: int, held_out: HeldOut = "random"
    ) -> Experiment:
        """The experiment of a seed, with a space of one dimension. Raises DataError when there is
        too little to split or to learn from.
        """
        server, *others = (table.only(rows) for rows in deal(table.n_people, seed))
        rows = {key: titled(key) for key in table.item_keys}
        options = TrainingOptions(min_ratings=min_ratings, seed=seed, dimension=1)
        draft = Draft.of(server, rows, options, LearnedVectors(), lambda _: None)
        encoder, catalog = draft.fitted.space.encoder, draft.catalog
        groups = [
            HeldOutGroup.of(*shown_and_liked(part, draft, held_out), encoder, catalog, draft.held)
            for part in others
        ]
        return cls(draft, draft.as_people, *groups)

    def for_signals(self, epsilon: float, k: int) -> Experiment:
        """The same deal in a space whose dimension and directions suit a plain epsilon and k."""
        most = int(self.draft.told.vectors.shape[1])
        for dimension in (d for d in _DIMENSIONS if d <= most):
            plain = self._in_space(TrainingOptions(epsilon=1.0, k=k, dimension=dimension))
            near = epsilon / float(plain.encoder.reach().diameter)
            if dimension_for(near) <= dimension:
                break
        options = TrainingOptions(epsilon=near, k=k, dimension=dimension, learned=True)
        return self._in_space(options)

    @property
    def encoder(self) -> Encoder:
        """What points are made by."""
        return self.draft.fitted.space.encoder

    def groups(self) -> Groups:
        """Validation chooses, clients test, and the server's people are the prior."""
        weighed: Prior = self.server.prior(self.draft.catalog, self.draft.held)
        return Groups(self.validation, self.clients, self.server, weighed, self.draft.held)

    def _in_space(self, options: TrainingOptions) -> Experiment:
        draft = self.draft.for_signals(options)
        encoder, vectors = draft.fitted.space.encoder, draft.catalog.vectors
        groups = [each.placed(vectors, encoder) for each in (self.validation, self.clients)]
        return Experiment(draft, draft.as_people, *groups)

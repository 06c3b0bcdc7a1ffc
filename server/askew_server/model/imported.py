"""A model of vectors that another model has: fitted and compared as any other, by simulated people.

Nothing but the vectors is given, so no figure of such a model is of people who rated anything; its
card says so. Its prior is other made-up people, drawn from the item vectors alone even where user
vectors are given: nobody is in it. On MovieLens 1M real people got most of what a prior of real
people would have given them (docs/training.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from askew.vectors import RatingScale
from askew_server.model.break_even import FileSize
from askew_server.model.item_model import ItemModel, train
from askew_server.prior.source import MadeUpRatings
from askew_server.ratings import ItemRow, RatingTable
from askew_server.training.disclosure import in_words
from askew_server.training.embeddings import histories
from askew_server.training.embeddings.geometry import FoldIn, for_devices
from askew_server.training.embeddings.given import GivenItems, as_ratings, check_people
from askew_server.training.embeddings.reading import Vectors
from askew_server.training.item_vectors import ImportedVectors
from askew_server.training.options import TrainingOptions


@dataclass(frozen=True)
class ImportOptions:
    """Public parameters of an import. scale: what people rate on, on their devices."""

    training: TrainingOptions
    fold_in: FoldIn
    scale: RatingScale


def import_model(  # noqa: PLR0913
    items: GivenItems,
    people: Vectors | None,
    rows: Mapping[str, ItemRow],
    options: ImportOptions,
    *,
    file_size: FileSize | None = None,
    step: Callable[[str], None] = lambda _: None,
) -> tuple[ItemModel, RatingTable]:
    """The model, and the simulated ratings that it is fitted to. Deterministic for a seed.

    Raises DataError for user vectors of another geometry, and as `train`.
    """
    step("simulated histories")
    if people is not None:
        check_people(people, items)
    rng = np.random.default_rng([options.training.seed, 16])  # made-up people: protects nobody
    folded = for_devices(items.vectors, options.fold_in)
    prior = MadeUpRatings(as_ratings(histories.made_up(folded, rng), items, options.scale))
    if people is None:
        likes = histories.made_up(folded, rng)
        source = f"vectors of another model, with SIMULATED likes of {histories.MADE_UP:,} people"
    else:
        likes = histories.of_people(people.numbers, items.vectors, rng)
        of = in_words(len(people))
        source = f"vectors of another model, with likes SIMULATED from those of {of} users"
    table = as_ratings(likes, items, options.scale)
    training = _of_size(options.training, folded.shape[1])
    given = ImportedVectors(items.keys, folded, options.scale)
    model = train(
        table,
        rows,
        training,
        source=source,
        simulated=True,
        prior=prior,
        vectors=given,
        file_size=file_size,
        step=step,
    )
    return model, table


def _of_size(options: TrainingOptions, size: int) -> TrainingOptions:
    """The options for vectors of this size; no signal has more, unless it was asked to.

    Raises ParameterError in that case.
    """
    dimension = options.dimension or min(options.signal_dimension, size)
    return replace(options, ranking_dimension=size, dimension=dimension)

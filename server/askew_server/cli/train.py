"""`askew-server train`, and the options that name a prior: a file, a budget or a cohort."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askew_server.cli.options import Rational
from askew_server.cli.progress import Steps
from askew_server.cli.saved_model import load, of_tastes
from askew_server.cli.train_private import PrivateOptions, private_options, train_private
from askew_server.cli.training_data import (
    bytes_held,
    default_items_option,
    report,
    save,
    scale_of,
    show_left_out,
    source_of,
    training_data,
)
from askew_server.taste.training.options import RULES

if TYPE_CHECKING:
    from askew_server.counting.engines.files import FileState
    from askew_server.ratings import RatingTable
    from askew_server.taste.prior.source import PriorSource  # brings numpy
    from askew_server.taste.training.item_vectors import VectorSource
    from askew_server.taste.training.options import TrainingOptions


_OPTIONS = (
    click.option(
        "--prior-file",
        type=click.Path(path_type=Path),
        help="Public prior: ratings of people who published them.",
    ),
    click.option(
        "--prior-dp",
        type=Rational(positive=True),
        help="Prior fitted under differential privacy, given the item vectors (--vectors-from): its"
        " epsilon, such as 1 or 1/2.",
    ),
    click.option("--ledger", type=click.Path(path_type=Path), help="The ledger that pays for it."),
    click.option("--mark", type=click.Path(path_type=Path), help="The ledger's mark."),
    click.option("--dataset", help="Whose budget pays."),
    click.option(
        "--prior-cohort",
        help="Prior of the people in --ratings as they are, who opted in under this name.",
    ),
)


@dataclass(frozen=True)
class PriorOptions:
    """What was given on the command line."""

    prior_file: Path | None
    prior_dp: Fraction | None
    ledger: Path | None
    mark: Path | None
    dataset: str | None
    prior_cohort: str | None

    @property
    def given(self) -> int:
        """How many priors are named."""
        priors = (self.prior_file, self.prior_dp, self.prior_cohort)
        return sum(each is not None for each in priors)

    def look(self, ratings: Path) -> tuple[FileState, ...]:
        """The files of ratings, before they are read, where a release is to be paid for them.
        Raises click.UsageError for options that do not go together.
        """
        from askew_server.counting.engines.files import local_files, states_of

        if self.given > 1:
            raise click.UsageError("one prior at most: --prior-file, --prior-dp or --prior-cohort")
        if self.prior_dp is None:
            return ()
        self._budget()
        return states_of(local_files(str(ratings)))

    @contextmanager
    def source(
        self, counts: float | None, ratings: Path, seen: Sequence[FileState]
    ) -> Iterator[PriorSource | None]:
        """The prior's source, with its ledger open while it is used.

        counts: the least count that is a like, where files hold counts. ratings: of the people
        trained on. seen: what `look` found there.
        """
        from askew_server.ratings import read_ratings
        from askew_server.taste.prior.source import Cohort, PublishedRatings

        if self.prior_dp is not None:
            yield from self._released(self.prior_dp, ratings, seen)
        elif self.prior_file is not None:
            table, _ = read_ratings(self.prior_file, counts=counts)
            yield PublishedRatings(table, self.prior_file.name)
        else:
            yield None if self.prior_cohort is None else Cohort(self.prior_cohort)

    def _budget(self) -> tuple[Path, Path, str]:
        """The ledger and the mark that pay, and the data set."""
        if self.ledger is None or self.mark is None or self.dataset is None:
            raise click.UsageError("--prior-dp needs --ledger, --mark and --dataset")
        return self.ledger, self.mark, self.dataset

    def _released(
        self, epsilon: Fraction, ratings: Path, seen: Sequence[FileState]
    ) -> Iterator[PriorSource]:
        from askew.noise.randomness import SystemBits
        from askew_server.cli.options import Workplace, existing
        from askew_server.cli.release_run import warn_of_events
        from askew_server.counting.engines.files import are_as_they_were, changed, mark_of
        from askew_server.counting.key_store import stored_key
        from askew_server.ledger import Ledger
        from askew_server.release.plan import place_of_file
        from askew_server.taste.prior.source import DPGaussian, PaidRelease

        path, mark, dataset = self._budget()
        with Ledger(existing(path), mark) as ledger:
            state = mark_of(seen, stored_key(Workplace(ledger=path).bounding_key_path))
            if not are_as_they_were(seen):
                raise changed(str(ratings))
            place = place_of_file(seen[0].path if len(seen) == 1 else str(ratings))
            say = partial(click.echo, err=True)
            tell = partial(warn_of_events, ledger, say=say)
            release = PaidRelease(ledger, dataset, SystemBits(), place, state, tell)
            yield DPGaussian(epsilon, release)


def prior_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options; the command gets them as one keyword argument, `prior`."""

    @wraps(command)
    def gathered(*positional: Any, **named: Any) -> Any:
        fields = {name: named.pop(name) for name in PriorOptions.__dataclass_fields__}
        return command(*positional, prior=PriorOptions(**fields), **named)

    taking: Callable[..., Any] = gathered
    for option in reversed(_OPTIONS):
        taking = option(taking)
    return taking


@click.command()
@click.option(
    "--ratings",
    required=True,
    type=click.Path(path_type=Path),
    help="Ratings: a file or a folder of them.",
)
@click.option(
    "--items", type=click.Path(path_type=Path), help="Items file; without one, keys are titles."
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="New model directory.")
@click.option(
    "--device-epsilon",
    default=4.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="The epsilon per unit distance that devices will choose.",
)
@click.option("-k", default=8, show_default=True, help="The k that devices will choose.")
@click.option("--ranking-dimension", type=int, help="Numbers of a vector; default 64.")
@click.option("--min-ratings", default=20, show_default=True, help="Leave out rarer items.")
@click.option("--least-likes", default=20, show_default=True, help="Hold back shorter profiles.")
@click.option("--like-from", type=float, help="Lowest rating that is a like; default upper 1/4.")
@click.option(
    "--counts",
    is_flag=True,
    help="The ratings are counts, such as plays; each is a like, or each from --like-from on.",
)
@click.option(
    "--rule",
    default="auto",
    show_default=True,
    type=click.Choice(RULES),
    help="How to answer a signal; auto takes what did best for people held out.",
)
@click.option(
    "--has-payloads",
    is_flag=True,
    help="Items have large payloads: devices hold the vectors of slates, and name one.",
)
@click.option(
    "--payloads",
    type=click.Path(path_type=Path),
    help="Folder with a file for each item, named by its key, which only replies bring.",
)
@prior_options
@private_options
@click.option(
    "--vectors-from",
    type=click.Path(path_type=Path),
    help="Take items, vectors and rating scale from this model, which these people are not in.",
)
@default_items_option
def train(
    ratings: Path,
    items: Path | None,
    out: Path,
    device_epsilon: float,
    k: int,
    ranking_dimension: int | None,
    min_ratings: int,
    least_likes: int,
    like_from: float | None,
    counts: bool,
    rule: str,
    has_payloads: bool,
    payloads: Path | None,
    vectors_from: Path | None,
    default_items: int | None,
    prior: PriorOptions,
    paying: PrivateOptions,
) -> None:
    """Train a model on ratings. The same ratings, options and prior make the same bytes.

    Reads MovieLens files in their original formats (csv, u.data and u.item, .dat), gzipped or not,
    and any csv or parquet file with the columns user, item, rating. Without --items, the items of
    the ratings are their titles, such as "Alien (1979)".

    With --private, the ratings are counted into one noisy matrix, which a ledger pays for, and the
    model is made of that matrix alone: --epsilon and --delta hide all that one person likes.
    Ratings are then one csv or parquet file, or a table of --engine. It says first what it will
    spend, and where a list of what is popular would do as well.

    \b
    Examples:
      askew-server train --ratings ratings.csv --items movies.csv --out model
      askew-server train --private --epsilon 1 --delta 1e-6 --dataset films \\
        --ledger askew-ledger.sqlite --ratings ratings.csv --items movies.csv \\
        --out model
    """
    from threadpoolctl import threadpool_limits

    from askew_server.taste.model.item_model import train as fit
    from askew_server.taste.model.payloads import PayloadFiles
    from askew_server.taste.prior.source import PublishedRatings
    from askew_server.taste.training.options import (
        FIXED,
        LEARNED,
        TrainingOptions,
        what_it_tells,
    )

    options = TrainingOptions(
        epsilon=device_epsilon,
        k=k,
        ranking_dimension=ranking_dimension,
        min_ratings=min_ratings,
        least_likes=least_likes,
        like_from=None if counts else like_from,
        counts=_least_count(like_from) if counts else None,
        rule=rule,
        learned=True,
        has_payloads=has_payloads,
        default_items=default_items,
    )
    if paying.private:
        if items is None or counts or payloads or has_payloads or vectors_from or prior.given:
            raise click.UsageError(
                "--private needs --items, and takes no --counts, prior, payloads or --vectors-from"
            )
        scale = scale_of(paying.scale, like_from)
        budget = (prior.ledger, prior.mark, prior.dataset)
        train_private(paying.spending(ratings, scale, *budget), items, out, options, scale)
        return
    paying.check_unused()
    seen = prior.look(ratings)
    table, rows = training_data(ratings, items, out, options.counts)
    vectors = _vectors(vectors_from)
    show_left_out(table, *_taken(table, vectors, options))
    if payloads is not None:
        PayloadFiles.in_folder(payloads, table.item_keys)  # what is wrong with it is said first
    # On small matrices, more threads wait for each other: more CPU time, no faster.
    with (
        prior.source(options.counts, ratings, seen) as people,
        Steps.shown() as steps,
        threadpool_limits(1),
    ):
        model = fit(
            table,
            rows,
            options,
            source=source_of(table),
            prior=people,
            vectors=vectors,
            file_size=bytes_held,
            step=lambda name: steps.step(f"training: {name}"),
        )
        if isinstance(people, PublishedRatings):
            like_from, known = model.card.space.scale.like_from, model.keys
            show_left_out(people.table, known, like_from, f"of {people.name}, not in this model")
        if payloads is not None:
            model = replace(model, payloads=PayloadFiles.in_folder(payloads, model.keys))
        model = save(model, out, steps)
    report(model, table, out, what_it_tells(FIXED if vectors.fixed else LEARNED))


def _vectors(model: Path | None) -> VectorSource:
    """The vectors of an existing model, or else vectors that training learns."""
    from askew_server.taste.training.item_vectors import FixedVectors, LearnedVectors

    if model is None:
        return LearnedVectors()
    given = of_tastes(load(model))
    catalog = given.catalog
    return FixedVectors(tuple(given.keys), catalog.vectors, catalog.boosts, given.card.space)


def _taken(
    table: RatingTable, vectors: VectorSource, options: TrainingOptions
) -> tuple[tuple[str, ...], float, str]:
    """Which items a model will have, the least rating that is a like, and why no others."""
    from askew_server.taste.training.item_vectors import FixedVectors, often_rated
    from askew_server.taste.training.space_fit import scale_of

    if isinstance(vectors, FixedVectors):
        no_vector = "the model of --vectors-from does not have them"
        return vectors.keys, vectors.space.scale.like_from, no_vector
    kept = tuple(table.item_keys[item] for item in often_rated(table, options.min_ratings))
    scale = scale_of(table, options.like_from)
    return kept, scale.like_from, f"fewer than {options.min_ratings} ratings (--min-ratings)"


def _least_count(like_from: float | None) -> float:
    return 1.0 if like_from is None else like_from

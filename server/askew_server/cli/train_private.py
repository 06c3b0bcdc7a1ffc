"""`train --private`, and `update` of such a model: what it will cost, the charge, the model.

Everything that is published is made of one noisy matrix, the items file and options. The plan is
said before a rating is read, and a model that a list of what is popular would do better than is
refused before anything is spent, where it is known how many people to expect.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askew.errors import AskewError, DataError
from askew.noise.randomness import SystemBits
from askew_server.cli.options import (
    POSITIVE,
    RATIONAL,
    Workplace,
    again_options,
    bound_option,
    engine_options,
    existing,
)
from askew_server.cli.progress import Steps
from askew_server.counting.contract import KEY_BYTES, Engine, LikesTask
from askew_server.counting.engines import public_address
from askew_server.counting.engines.driver import is_file
from askew_server.ledger import Dataset, Ledger
from askew_server.release.tables import headed, losses, number

if TYPE_CHECKING:
    from askew.mechanisms.covariance import Matrix, NoisyCovariance  # brings numpy
    from askew.spaces.vectors import RatingScale
    from askew_server.ratings import ItemRow
    from askew_server.taste.model.item_model import ItemModel
    from askew_server.taste.training.options import TrainingOptions
    from askew_server.taste.training.paid_matrix import MatrixPlan

_POPULAR = 10  # items of the list that is made of the noisy matrix


@dataclass(frozen=True, kw_only=True)
class Spending:
    """What pays for a noisy matrix, and how it is asked for. Public.

    ratings: a FILE or a TABLE. least, most: from where to where a rating is a like. expect: how
    many people, as far as the operator knows without these ratings. as_of, again: as of `release`.
    """

    place: Workplace
    dataset: str | None
    ratings: str
    noise: NoisyCovariance
    least: float
    most: float
    max_items_per_unit: int | None = None
    expect: int | None = None
    as_of: str | None = None
    again: bool = False
    dry_run: bool = False
    yes: bool = False


def catalog_of(items: Path) -> tuple[tuple[str, ...], dict[str, ItemRow]]:
    """The keys of a public catalog, in the order of their bytes, and its rows."""
    from askew_server.cli.training_data import show_omissions
    from askew_server.ratings import read_items

    rows, left_out = read_items(items)
    show_omissions(left_out)
    return tuple(sorted(rows, key=str.encode)), rows


def paid_matrix(
    spending: Spending,
    keys: tuple[str, ...],
    file: Path,
    steps: Steps,
) -> Matrix | None:
    """The noisy matrix of a catalog's keys, paid for, and in the file; None after a dry run.

    Raises what the ledger, the engine and `MatrixJob` raise; AskewError where a list of what is
    popular would do better than a model.
    """
    from askew.mechanisms.covariance import UNIT
    from askew_server.cli.release_run import (
        ask,
        dataset_of,
        opened_engine,
        repeat_in_words,
        today,
        warn_of_sharers,
    )
    from askew_server.counting.identity import place_of
    from askew_server.counting.likes import COLUMNS
    from askew_server.ledger.records import check_name
    from askew_server.taste.training.paid_matrix import (
        MatrixJob,
        MatrixPlan,
        lifetime,
        made_before,
    )

    place = spending.place
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger(existing(place.ledger), place.mark_path))
        data = dataset_of(ledger, spending.dataset)
        if Path(spending.ratings).is_file() and not is_file(spending.ratings):
            raise DataError(
                f"{spending.ratings}: private training counts parquet, csv, tsv, txt and files of"
                " MovieLens, by the ends of their names, or a table of --engine"
            )
        # What the ratings call their columns is known when they are looked at.
        asked = _task(spending, keys, spending.ratings, COLUMNS[0])
        plan = MatrixPlan(data.name, data.version, asked, spending.noise)
        if spending.as_of is not None:
            check_name("as_of", spending.as_of)
        request = ledger.asked(plan.charge_request(spending.as_of, today()), again=spending.again)
        with ledger.turn(request):  # whoever makes it now is waited for
            stored = ledger.stored(request)
        noisy: Matrix | None = None
        if stored is not None:
            noisy = None if spending.dry_run else made_before(stored, file)
            steps.pause()
            click.echo(repeat_in_words(stored))
        else:
            engine = stack.enter_context(opened_engine(place, steps.share))
            source = _Ratings(engine, spending.ratings)
            plan = replace(plan, task=(task := source.task(spending, keys)))
            steps.pause()
            click.echo(headed(_plan_in_words(plan, data, ledger, spending.expect)) + "\n")
            _require_worth(spending.noise, len(keys), spending.expect)
            ledger.foresee(request)  # what is refused is refused before the ratings are looked at
            warn_of_sharers(ledger, data.name, place_of(task))
            columns = task.unit_column, task.item_column, task.rating_column
            engine.look_through(spending.ratings, columns)
        if spending.dry_run:
            allowed = "" if stored else "the budget allows it; "
            click.echo(f"A dry run: {allowed}nothing was charged, counted or written.")
            return None
        if noisy is None:
            if not spending.yes:
                ask()
            job = MatrixJob(ledger, source.count, SystemBits(), steps.step)
            noisy = job.make(plan, request, file)
        spent = ledger.dataset(data.name).spent
        left, more = lifetime(ledger, data.name, spending.noise)
        steps.pause()
        click.echo(
            f"spent of data set {data.name} now: {losses(spent.epsilon, spent.delta)}; left is"
            f" epsilon {number(left)}, for {more} more such matrices"
        )
        people = max(round(int(noisy.trace()) / UNIT), 1)  # of the noisy matrix: it costs nothing
        click.echo(f"by the noisy matrix: {_expected(spending.noise, len(keys), people)}")
        return noisy


def _plan_in_words(
    plan: MatrixPlan, data: Dataset, ledger: Ledger, expect: int | None
) -> list[tuple[str, str]]:
    """What will be counted, what it costs, whom it protects, and what it will be worth."""
    from askew_server.taste.training.expected_share import GOOD, WORTH_HAVING, people_for
    from askew_server.taste.training.paid_matrix import lifetime

    noise, task = plan.noise, plan.task
    items = len(task.keys)
    _, more = lifetime(ledger, data.name, noise)
    cap = task.max_items_per_unit
    beat, good = (people_for(noise, items, rise) for rise in (WORTH_HAVING, GOOD))
    needs = (
        f"{beat:,} people to beat a list of what is popular, {good:,} for nine tenths of the model"
        " without noise, as far as people are like those of MovieLens"
    )
    lines = [
        ("data set", f"{data.name}, version {data.version}"),
        ("protects", f"{data.unit}; neighbors: {data.neighbors.value}"),
        ("spends", f"{losses(noise.epsilon, noise.delta)}; such charges add up"),
        ("spent", losses(data.spent.epsilon, data.spent.delta)),
        ("lifetime", f"{more} such matrices, with this one; each update is one more"),
        ("likes", f"ratings from {task.least:g} to {task.most:g}{_capped(cap)}"),
        ("items", f"{items:,} of the items file, whoever likes them"),
        ("noise", f"{noise.sigma:.3g} for each two items; a person adds 1 in all to the diagonal"),
        ("needs", needs),
    ]
    if expect is not None:
        lines.append(("expected", _expected(noise, items, expect)))
    return lines


def _capped(cap: int | None) -> str:
    return "" if cap is None else f", at most {cap:,} of a person"


def _expected(noise: NoisyCovariance, items: int, people: int) -> str:
    from askew_server.taste.training.expected_share import expected_share

    share = expected_share(noise, items, people)
    if share is None:
        return f"with {people:,} people, no better than a list of what is popular"
    return f"with {people:,} people, {share:.0%} of the NDCG@10 of the model without noise"


def _require_worth(noise: NoisyCovariance, items: int, people: int | None) -> None:
    """Raises AskewError where a list of what is popular is expected to do as well."""
    from askew_server.taste.training.expected_share import (
        WORTH_HAVING,
        epsilon_for,
        expected_share,
        people_for,
    )

    if people is None or expected_share(noise, items, people) is not None:
        return
    wanted = epsilon_for(noise.delta, items, people, WORTH_HAVING)
    raise AskewError(
        f"a list of what is popular is expected to do as well for {people:,} people, so nothing was"
        f" spent. Epsilon {wanted:.2g} would do, or {people_for(noise, items, WORTH_HAVING):,}"
        " people, or an items file with fewer items; askew-server release publishes a list"
    )


@dataclass(frozen=True)
class _Ratings:
    """Ratings that an engine reads where they are: a file of its own kind, or a table."""

    engine: Engine
    name: str

    def task(self, spending: Spending, keys: tuple[str, ...]) -> LikesTask:
        """What is counted. Raises DataError for what the engine cannot count."""
        from askew_server.cli.release_run import warn
        from askew_server.counting.likes import columns_of_ratings, require_likes

        columns = columns_of_ratings(self.engine, self.name)
        task = _task(spending, keys, self.name, columns)
        warn(*require_likes(self.engine, task))
        return task

    def count(self, task: LikesTask) -> Matrix:
        """G."""
        from askew_server.counting.likes import count_likes

        return count_likes(self.engine, task, SystemBits().read(KEY_BYTES))


def _task(
    spending: Spending, keys: tuple[str, ...], events: str, columns: tuple[str, str, str]
) -> LikesTask:
    unit, item, rating = columns
    return LikesTask(
        events=events,
        engine=public_address(spending.place.engine),
        encoding=spending.place.log_encoding,
        unit_column=unit,
        item_column=item,
        rating_column=rating,
        keys=keys,
        least=spending.least,
        most=spending.most,
        max_items_per_unit=spending.max_items_per_unit,
    )


_OPTIONS = (
    click.option(
        "--private",
        is_flag=True,
        help="Learn from one noisy matrix of likes, paid for with --epsilon and --delta.",
    ),
    click.option("--epsilon", type=POSITIVE, help="Of a private model: its epsilon, such as 1."),
    click.option("--delta", type=RATIONAL, help="Of a private model: its delta, such as 1e-6."),
    click.option(
        "--scale",
        type=(float, float),
        default=(1.0, 5.0),
        show_default=True,
        help="Of a private model: lowest and highest rating; others do not count.",
    ),
    click.option(
        "--expect",
        type=click.IntRange(1),
        help="Of a private model: how many people there are, as far as you know without them.",
    ),
    again_options,
    click.option("--dry-run", is_flag=True, help="Say what a private model spends, and stop."),
    click.option("--yes", is_flag=True, help="Do not ask before spending, as a terminal does."),
    bound_option,
    engine_options,
)


@dataclass(frozen=True)
class PrivateOptions:
    """What was given on the command line."""

    private: bool
    epsilon: Fraction | None
    delta: Fraction | None
    scale: tuple[float, float]
    expect: int | None
    as_of: str | None
    again: bool
    dry_run: bool
    yes: bool
    max_items_per_unit: int | None
    engine: str
    memory_limit: str | None
    encoding: str | None

    def check_unused(self) -> None:
        """Raises click.UsageError for what only --private takes."""
        given = (self.epsilon, self.delta, self.expect, self.as_of, self.again)
        if any((*given, self.max_items_per_unit, self.dry_run)):
            raise click.UsageError(
                "--epsilon, --delta, --expect, --as-of, --again, --max-items-per-unit and --dry-run"
                " are of --private; devices choose an epsilon of their own"
            )

    def spending(
        self,
        ratings: Path,
        scale: RatingScale,
        ledger: Path | None,
        mark: Path | None,
        dataset: str | None,
    ) -> Spending:
        """What pays, and for what. Raises click.UsageError where something is missing."""
        from askew.mechanisms.covariance import NoisyCovariance

        if self.epsilon is None or self.delta is None or ledger is None:
            raise click.UsageError("--private needs --epsilon, --delta and --ledger")
        place = Workplace(
            ledger=ledger,
            mark=mark,
            engine=self.engine,
            memory_limit=self.memory_limit,
            encoding=self.encoding,
        )
        return Spending(
            place=place,
            dataset=dataset,
            ratings=f"{ratings}/" if ratings.is_dir() else str(ratings),
            noise=NoisyCovariance(self.epsilon, self.delta),
            least=scale.like_from,
            most=scale.highest,
            max_items_per_unit=self.max_items_per_unit,
            expect=self.expect,
            as_of=self.as_of,
            again=self.again,
            dry_run=self.dry_run,
            yes=self.yes,
        )


def private_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options; the command gets them as one keyword argument, `paying`."""

    @wraps(command)
    def gathered(*positional: Any, **named: Any) -> Any:
        fields = {name: named.pop(name) for name in PrivateOptions.__dataclass_fields__}
        return command(*positional, paying=PrivateOptions(**fields), **named)

    taking: Callable[..., Any] = gathered
    for option in reversed(_OPTIONS):
        taking = option(taking)
    return taking


def train_private(
    spending: Spending, items: Path, out: Path, training: TrainingOptions, scale: RatingScale
) -> None:
    """A model of a noisy matrix that is paid for now, or was for this very request."""
    from threadpoolctl import threadpool_limits

    from askew_server.cli.training_data import check_new, report, save
    from askew_server.taste.model.private_model import popularity_list, private_model
    from askew_server.taste.training.paid_matrix import NOISY
    from askew_server.taste.training.private import PrivateParameters

    check_new(out)
    keys, rows = catalog_of(items)
    noise = spending.noise
    parameters = PrivateParameters(noise.epsilon, noise.delta, scale, training)
    with Steps.shown() as steps, threadpool_limits(1):
        file = unfinished(out)
        noisy = paid_matrix(spending, keys, file, steps)
        if noisy is None:
            return
        model = private_model(
            noisy,
            keys,
            rows,
            parameters,
            step=lambda name: steps.step(f"training: {name}"),
        )
        save(model, out, steps, beside={NOISY: file})
    file.unlink()
    report(model, None, out, what_a_private_one_tells(noise))
    best = [rows[key].title for key in popularity_list(noisy, keys, _POPULAR)]
    click.echo(
        f"popular    {'; '.join(best)}\n"
        "           by the noisy matrix, so at no further cost; below some 50,000 people a list\n"
        "           that askew-server release pays for is nearer to the truth"
    )


def update_private(spending: Spending, old: ItemModel, items: Path, out: Path) -> None:
    """A new catalog in a private model's space, of the people simulated from another noisy matrix:
    it is paid for like the first.
    """
    from threadpoolctl import threadpool_limits

    from askew_server.cli.training_data import check_new, report, save
    from askew_server.taste.model.item_model import update
    from askew_server.taste.model.private_model import simulated_table, source_of
    from askew_server.taste.training.paid_matrix import NOISY
    from askew_server.taste.training.private import PrivateParameters, kept_items

    check_new(out)
    keys, rows = catalog_of(items)
    noise, scale = spending.noise, old.card.space.scale
    parameters = PrivateParameters(noise.epsilon, noise.delta, scale, old.training)
    with Steps.shown() as steps, threadpool_limits(1):
        file = unfinished(out)
        noisy = paid_matrix(spending, keys, file, steps)
        if noisy is None:
            return
        steps.step("the catalog")
        table = simulated_table(noisy, keys, parameters)
        source = source_of(kept_items(noisy, parameters), parameters, updated=True)
        model = update(old, table, rows, source=source)
        save(model, out, steps, beside={NOISY: file})
    file.unlink()
    report(model, None, out, what_a_private_one_tells(noise, updated=True))


def is_private(model: Path) -> bool:
    """Whether a model is made of a noisy matrix, as its manifest says, also where that is gone."""
    from askew_server.taste.model.artifact import TasteManifest
    from askew_server.taste.model.directory import MANIFEST, MANIFEST_LIMIT, decode_manifest, read
    from askew_server.taste.training.paid_matrix import NOISY

    return NOISY in decode_manifest(read(model / MANIFEST, MANIFEST_LIMIT), TasteManifest).files


def unfinished(out: Path) -> Path:
    """Where a noisy matrix is until its model is saved."""
    return out.with_name(f"{out.name}.noisy")


def what_a_private_one_tells(noise: NoisyCovariance, *, updated: bool = False) -> tuple[str, ...]:
    """What to tell the operator of a private model. updated: it is made of more than one matrix."""
    from askew_server.taste.training.paid_matrix import NOISY

    promise = losses(noise.epsilon, noise.delta)
    beside = f"{NOISY} beside it is that matrix, and may be given away like the model"
    if updated:
        return (
            f"what another noisy matrix of likes tells: {promise} for all that one person likes,",
            "which adds up with what each matrix before it told of the same person;",
            "all else of it is made of these matrices, items files and options",
            beside,
        )
    return (
        f"what one noisy matrix of likes tells: {promise} for all that one person likes;",
        "all else of it is made of this matrix, the items file and options",
        beside,
    )

"""Private training as an operator sees it: the plan, the charge, the model.

Everything that is published is made of one noisy matrix, the items file and options. The plan is
said before a rating is read, and a model that a list of what is popular would do better than is
refused before anything is spent, where it is known how many people to expect.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
from threadpoolctl import threadpool_limits

from askew.errors import AskewError, DataError
from askew.mechanisms.covariance import UNIT, Matrix, NoisyCovariance
from askew.noise.randomness import SystemBits
from askew.spaces.vectors import RatingScale
from askew_server.cli.options import PrivateOptions, check_new, existing
from askew_server.cli.progress import Steps, show_omissions
from askew_server.cli.release_run import (
    ask,
    dataset_of,
    opened_engine,
    repeat_in_words,
    today,
    warn,
    warn_of_sharers,
)
from askew_server.cli.training_data import report
from askew_server.counting.contract import KEY_BYTES, LikesTask, is_file, place_of
from askew_server.counting.engines import public_address
from askew_server.counting.likes import COLUMNS, columns_of_ratings, count_likes, require_likes
from askew_server.ledger import Dataset, Ledger
from askew_server.ledger.records import check_name
from askew_server.ratings import read_items
from askew_server.release.tables import headed, losses, number
from askew_server.taste import artifact
from askew_server.taste.model import ItemModel, update
from askew_server.taste.options import TrainingOptions
from askew_server.taste.paid_matrix import (
    NOISY,
    MatrixPlan,
    budget_left,
    load_paid_matrix,
    make_matrix,
)
from askew_server.taste.private import (
    GOOD,
    WORTH_HAVING,
    PrivateParameters,
    describe_source,
    epsilon_for,
    expected_share,
    items_above_noise,
    people_for,
    popularity_list,
    private_model,
    simulate_ratings,
)

_POPULAR = 10  # items of the list that is made of the noisy matrix


def make_private(
    paying: PrivateOptions,
    ratings: Path,
    items: Path | None,
    out: Path,
    training: TrainingOptions,
    scale: RatingScale,
    old: ItemModel | None = None,
) -> None:
    """Make a model of a noisy matrix that is paid for now, or was for this very request, write it
    to `out` and print a report; a dry run writes nothing.

    old: a private model, whose space gets a new catalog. Raises click.UsageError without --delta,
    --ledger or --items, ParameterError for an `out` that is there, and AskewError where a list of
    what is popular is expected to do as well.
    """
    place = paying.place
    noise = NoisyCovariance(paying.epsilon or Fraction(0), paying.delta or Fraction(0))
    if items is None:
        raise click.UsageError("a private model (--epsilon) needs --items")
    check_new(out)
    if ratings.is_file() and not is_file(str(ratings)):
        raise DataError(
            f"{ratings}: private training counts parquet, csv, tsv, txt and files of MovieLens, by"
            " the ends of their names, or a table of --engine"
        )
    rows, left_out = read_items(items)
    show_omissions(left_out)
    task = LikesTask(
        events=f"{ratings}/" if ratings.is_dir() else str(ratings),
        engine=public_address(place.engine),
        encoding=place.log_encoding,
        **_columns(COLUMNS[0]),
        keys=(keys := tuple(sorted(rows, key=str.encode))),
        least=scale.like_from,
        most=scale.highest,
        max_items_per_unit=paying.max_items_per_unit,
    )
    parameters = PrivateParameters(noise, scale, training)
    file = out.with_name(f"{out.name}.noisy")  # until the model is saved
    # On small matrices, more threads wait for each other: more CPU time, no faster.
    steps = Steps()
    with threadpool_limits(1):
        noisy = _paid_matrix(paying, noise, task, file, steps)
        if noisy is None:
            return
        if old is None:
            model = private_model(
                noisy, keys, rows, parameters, step=lambda name: steps.step(f"training: {name}")
            )
        else:
            steps.step("the catalog")
            table = simulate_ratings(noisy, keys, parameters)
            source = describe_source(items_above_noise(noisy, parameters), parameters, updated=True)
            model = update(old, table, rows, source=source)
        steps.step("writing the model")
        artifact.save(model, out, {NOISY: file})
    file.unlink()
    report(model, None, out, _what_it_tells(noise, is_updated=old is not None))
    if old is None:
        best = [rows[key].title for key in popularity_list(noisy, keys, _POPULAR)]
        click.echo(
            f"popular    {'; '.join(best)}\n"
            "           by the noisy matrix, so at no further cost; below some 50,000 people a list"
            "\n           that askew-server release pays for is nearer to the truth"
        )


def _columns(names: Sequence[str]) -> dict[str, Any]:
    return dict(zip(("unit_column", "item_column", "rating_column"), names, strict=True))


def _paid_matrix(
    paying: PrivateOptions, noise: NoisyCovariance, task: LikesTask, file: Path, steps: Steps
) -> Matrix | None:
    place = paying.place
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger(existing(place.ledger, place.mark), place.mark_path))
        data = dataset_of(ledger, paying.dataset)
        plan = MatrixPlan(data.name, data.version, task, noise)
        if paying.as_of is not None:
            check_name("as_of", paying.as_of)
        request = ledger.newest_request(
            plan.charge_request(paying.as_of, today()), again=paying.again
        )
        with ledger.lock(request):  # whoever makes it now is waited for
            stored = ledger.stored(request)
        noisy: Matrix | None = None
        if stored is not None:
            noisy = None if paying.dry_run else load_paid_matrix(stored, file)
            click.echo(repeat_in_words(stored))
        else:
            ledger.preview(request)  # what is refused is refused before the ratings are looked at
            engine = stack.enter_context(opened_engine(place, steps.share))
            # What the ratings call their columns is known when they are looked at.
            columns = columns_of_ratings(engine, task.events)
            task = replace(task, **_columns(columns))
            warn(*require_likes(engine, task))
            plan = replace(plan, task=task)
            click.echo(headed(_plan_in_words(plan, data, ledger, paying.expect)) + "\n")
            _require_worth(noise, len(task.keys), paying.expect)
            warn_of_sharers(ledger, data.name, place_of(task))
            engine.look_through(task.events, columns)
        if paying.dry_run:
            allowed = "" if stored else "the budget allows it; "
            click.echo(f"A dry run: {allowed}nothing was charged, counted or written.")
            return None
        if noisy is None:
            ask()

            def count(asked: LikesTask) -> Matrix:
                return count_likes(engine, asked, SystemBits().read(KEY_BYTES))

            noisy = make_matrix(
                plan,
                request,
                file,
                ledger=ledger,
                count=count,
                bits=SystemBits(),
                report=steps.step,
            )
        spent = ledger.dataset(data.name).spent
        left, more = budget_left(ledger, data.name, noise)
        people = max(round(int(noisy.trace()) / UNIT), 1)  # of the noisy matrix: it costs nothing
        click.echo(
            f"spent of data set {data.name} now: {losses(spent.epsilon, spent.delta)}; left is"
            f" epsilon {number(left)}, for {more} more such matrices\n"
            f"by the noisy matrix: {_expected(noise, len(task.keys), people)}"
        )
        return noisy


def _plan_in_words(
    plan: MatrixPlan, data: Dataset, ledger: Ledger, expect: int | None
) -> list[tuple[str, str]]:
    noise, task = plan.noise, plan.task
    items, cap = len(task.keys), task.max_items_per_unit
    _, more = budget_left(ledger, data.name, noise)
    capped = "" if cap is None else f", at most {cap:,} of a person"
    needs = (
        f"{people_for(noise, items, WORTH_HAVING):,} people to beat a list of what is popular,"
        f" {people_for(noise, items, GOOD):,} for nine tenths of the model without noise, as far as"
        " people are like those of MovieLens"
    )
    lines = [
        ("data set", f"{data.name}, version {data.version}"),
        ("protects", f"{data.unit}; neighbors: {data.neighbors.value}"),
        ("spends", f"{losses(noise.epsilon, noise.delta)}; such charges add up"),
        ("spent", losses(data.spent.epsilon, data.spent.delta)),
        ("lifetime", f"{more} such matrices, with this one; each update is one more"),
        ("likes", f"ratings from {task.least:g} to {task.most:g}{capped}"),
        ("items", f"{items:,} of the items file, whoever likes them"),
        ("noise", f"{noise.sigma:.3g} for each two items; a person adds 1 in all to the diagonal"),
        ("needs", needs),
    ]
    return lines + ([] if expect is None else [("expected", _expected(noise, items, expect))])


def _expected(noise: NoisyCovariance, items: int, people: int) -> str:
    share = expected_share(noise, items, people)
    if share is None:
        return f"with {people:,} people, no better than a list of what is popular"
    return f"with {people:,} people, {share:.0%} of the NDCG@10 of the model without noise"


def _require_worth(noise: NoisyCovariance, items: int, people: int | None) -> None:
    if people is None or expected_share(noise, items, people) is not None:
        return
    wanted = epsilon_for(noise.delta, items, people, WORTH_HAVING)
    raise AskewError(
        f"a list of what is popular is expected to do as well for {people:,} people, so nothing was"
        f" spent. Epsilon {wanted:.2g} would do, or {people_for(noise, items, WORTH_HAVING):,}"
        " people, or an items file with fewer items; askew-server release publishes a list"
    )


def _what_it_tells(noise: NoisyCovariance, *, is_updated: bool) -> tuple[str, ...]:
    promise = f"{losses(noise.epsilon, noise.delta)} for all that one person likes"
    beside = f"{NOISY} beside it is that matrix, and may be given away like the model"
    if is_updated:
        return (
            f"what another noisy matrix of likes tells: {promise},",
            "which adds up with what each matrix before it told of the same person;",
            "all else of it is made of these matrices, items files and options",
            beside,
        )
    return (
        f"what one noisy matrix of likes tells: {promise};",
        "all else of it is made of this matrix, the items file and options",
        beside,
    )

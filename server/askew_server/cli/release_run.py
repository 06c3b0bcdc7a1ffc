"""One release as an operator sees it: the plan in words, the steps as they come, the list."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import click

from askew.dp.composition import PrivacyFilter
from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.dp.release import PRIVACY_UNIT, Release, release_from_bytes
from askew.errors import AskewError, LedgerError
from askew.noise.randomness import SystemBits
from askew_server.cli.options import Workplace
from askew_server.cli.progress import Steps
from askew_server.cli.releases import release_in_words
from askew_server.counting import Engine, EventSource, count_events
from askew_server.counting.bounding import catalog_remarks, catalog_size, require_events
from askew_server.counting.contract import place_of
from askew_server.counting.engines import open_engine, public_address
from askew_server.interruptible import Progress
from askew_server.ledger import Dataset, Ledger, StoredRelease
from askew_server.ledger.records import check_name
from askew_server.release.forecast import (
    best_of,
    expected_counts,
    expected_in_words,
    forecast,
    forecasts,
    plan_in_words,
    too_few_in_words,
)
from askew_server.release.job import ReleaseJob
from askew_server.release.plan import (
    MechanismRequest,
    ReleasePlan,
    default_mechanism,
    with_default_bound,
)
from askew_server.release.tables import headed, losses

DEMO_EPSILON = Fraction(1)


def run(
    place: Workplace,
    *,
    source: EventSource,
    as_json: bool,
    dataset: str | None = None,
    mechanism: str | None,
    as_of: str | None = None,
    again: bool = False,
    yes: bool = False,
    dry_run: bool = False,
    expect: str | None = None,
    **numbers: Any,
) -> Release | None:
    """Plan, say what a release costs, ask, charge, count, select and store; return the release. A
    dry run looks through the events for faults, asks and charges nothing, and returns None.

    as_json: print the release as JSON, and all that is said on standard error. numbers: of a
    `MechanismRequest`, but for its neighbors.

    What is stored already is shown and returned (a dry run says on which day it was stored, and
    returns None), without a look at the events, a plan or a charge. Nothing that is said, stored or
    returned depends on the events, but for what is selected.

    dataset: the one that pays, or the only one. Raises ParameterError, DataError for a file of
    expected counts or events that is none, AskewError where less than half is expected to be right,
    and what the ledger raises, as BudgetExceeded.
    """
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger(place.ledger, place.mark_path))
        data = dataset_of(ledger, dataset)
        counts = origin = None
        if expect is not None:
            counts, origin = expected_counts(expect, numbers["k"])
        if as_of is not None:
            check_name("as_of", as_of)
        asked = MechanismRequest(neighbors=data.neighbors, **numbers)  # of any mechanism
        mechanism = mechanism or default_mechanism(known_domain=bool(source.catalog))
        plan = ReleasePlan(
            dataset=data.name,
            version=data.version,
            source=replace(
                source, engine=public_address(place.engine), encoding=place.log_encoding
            ),
            mechanism=mechanism,
            asked=with_default_bound(mechanism, asked),
            expected=origin,
        )
        wanted = plan.charge_request(ranged=data.cap.slack > 0, as_of=as_of, day=today())
        request = ledger.newest_request(wanted, again=again)
        with ledger.lock(request):  # whoever makes it now is waited for
            stored = ledger.stored(request)
        if stored is not None:
            return _repeat(stored, as_json=as_json, dry_run=dry_run)
        steps = Steps()
        engine = stack.enter_context(opened_engine(place, steps.share))
        ledger.preview(request)  # what is refused is refused before the log is looked at
        n_items = catalog_size(engine, plan.task, plan.least_items)
        foreseen = forecast(plan.mechanism, plan.asked, n_items, counts)
        lines = plan_in_words(plan, data, foreseen)
        if origin is not None:
            others = forecasts(asked, n_items, counts, needs=False)
            best = best_of(others, asked)
            lines += expected_in_words(others, best)
            if not foreseen.finds_half:
                _say(headed(lines) + "\n", as_json)
                raise AskewError(too_few_in_words(foreseen, best, origin))
        require_events(engine, plan.task)
        _say(headed(lines) + "\n", as_json)
        if dry_run and as_json:
            click.echo(json.dumps(foreseen.named()))
        warn_of_sharers(ledger, data.name, place_of(plan.source))
        warn(*catalog_remarks(engine, plan.task))
        engine.look_through(source.events, {source.unit_column, source.item_column})
        if dry_run:
            allowed = "the budget allows it; nothing was charged, counted or written."
            _say(f"A dry run: {allowed}", as_json)
            return None
        if not yes:
            ask()
        bits = SystemBits()
        job = ReleaseJob(ledger, partial(count_events, engine, bits), bits, steps.step)
        stored = job.publish(plan, request)
        spent = ledger.dataset(data.name).spent
    show(stored, as_json)
    _say(f"\nspent of data set {data.name} now: {losses(spent.epsilon, spent.delta)}", as_json)
    return release_from_bytes(stored.payload)


def _say(text: str, as_json: bool) -> None:
    click.echo(text, err=as_json)


def show(stored: StoredRelease, as_json: bool) -> None:
    """Print a release on standard output, for a person or as JSON: {"release": ..., "is_repeat":
    ..., "stored_on": day}. If it was stored before, say so by `repeat_in_words`, with as_json on
    standard error.
    """
    if as_json:
        parts = {
            "release": json.loads(stored.payload),
            "is_repeat": stored.is_repeat,
            "stored_on": stored.request.day,
        }
        click.echo(json.dumps(parts, ensure_ascii=False))
    else:
        click.echo(release_in_words(stored.payload))
    if stored.is_repeat:
        _say(f"\n{repeat_in_words(stored)}", as_json)


def _repeat(stored: StoredRelease, *, as_json: bool, dry_run: bool) -> Release | None:
    if not dry_run:
        show(stored, as_json)
        return release_from_bytes(stored.payload)
    if as_json:
        click.echo(json.dumps({"is_repeat": True, "stored_on": stored.request.day}))
    _say(f"A dry run: {repeat_in_words(stored)}.", as_json)
    return None


def today() -> str:
    """Return the date in UTC, such as "2026-11-29". It is taken before the events are looked at."""
    return datetime.now(UTC).date().isoformat()


def repeat_in_words(stored: StoredRelease) -> str:
    """Return "stored on 2026-11-29, nothing counted or spent; --as-of or --again for another", with
    the day of the request that was stored.
    """
    return (
        f"stored on {stored.request.day}, nothing counted or spent; --as-of or --again for another"
    )


@contextmanager
def opened_engine(place: Workplace, progress: Progress | None = None) -> Iterator[Engine]:
    """Yield the engine of a workplace, opened, and close it when the body of the `with` ends.
    Raises what `open_engine` does.
    """
    engine = open_engine(place.engine, progress=progress, encoding=place.log_encoding)
    try:
        yield engine
    finally:
        engine.close()


def warn(*texts: str) -> None:
    """Print "warning: TEXT" and an empty line on standard error for each text, in order."""
    for text in texts:
        click.echo(f"warning: {text}\n", err=True)


def warn_of_sharers(ledger: Ledger, dataset: str, place: bytes) -> None:
    """Print one warning, by `warn`, that names the other data sets that were charged for events of
    this place, as `place_of` has it; print nothing where there are none.
    """
    if sharers := ledger.datasets_sharing(dataset, place):
        warn(
            f"{', '.join(sharers)} was charged for these events too, or for what was there"
            " before. Who is in them loses what all of these data sets spend together, and no cap"
            " adds it up."
        )


def ask() -> None:
    """Ask "Spend it?" on standard error if it and standard input are terminals; else go on without.
    Raises click.Abort, which the command ends with exit code 130, for a no or an empty answer.
    """
    if sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm("Spend it?", abort=True, err=True)


def demo(
    *, source: EventSource, as_json: bool, epsilon: Fraction, delta: Fraction, **asked: Any
) -> None:
    """Make a release from simulated events, in a folder that is gone afterwards, and print it, with
    how many of the true top are in it. Arguments: `run`.

    source: its columns; the events and the catalog are the demo's own.
    """
    from askew_server.demo.simulation import N_PEOPLE, write_events

    with tempfile.TemporaryDirectory(prefix="askew-") as name:
        folder = Path(name)
        counts = write_events(folder)
        place = Workplace(ledger=folder / "ledger.sqlite")
        cap = PrivacyFilter(epsilon=2 * epsilon, delta=2 * delta)
        with Ledger(place.ledger, place.mark_path) as ledger:
            ledger.open_dataset("demo", "1", cap, PRIVACY_UNIT, ADD_OR_REMOVE_ONE)
        _say(f"SIMULATED events: which of {N_PEOPLE:,} made-up people saw which film.\n", as_json)
        events, catalog = (str(folder / f"{name}.csv") for name in ("events", "catalog"))
        own = replace(source, events=events, catalog=catalog)
        asked |= {"epsilon": epsilon, "delta": delta, "dataset": "demo", "yes": True}
        release = run(place, source=own, as_json=as_json, **asked)  # nobody's budget
    if release:
        top = {item for item, _ in counts[: release.k]}
        hits = len(top & set(release.items))
        _say(f"Of the true top {release.k}, known here because nobody is in it: {hits}.", as_json)


def dataset_of(ledger: Ledger, name: str | None) -> Dataset:
    """Return the data set of this name, or the only one in the ledger without a name. Raises
    LedgerError where there is no such one, or none or several to choose from.
    """
    if name is not None:
        return ledger.dataset(name)
    datasets = ledger.datasets()
    if len(datasets) != 1:
        names = ", ".join(data.name for data in datasets) or "none yet; see ledger open --help"
        raise LedgerError(f"name the data set that pays with --dataset: {names}")
    return datasets[0]

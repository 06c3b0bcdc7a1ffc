"""One release as an operator sees it: the plan in words, the steps as they come, the list."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
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
from askew_server.counting import Engine, EventCounter, EventSource
from askew_server.counting.bounding import catalog_remarks, catalog_size, require_events
from askew_server.counting.contract import place_of
from askew_server.counting.engines import open_engine, public_address
from askew_server.interruptible import Progress
from askew_server.ledger import Dataset, Ledger, StoredRelease
from askew_server.ledger.records import check_name
from askew_server.release.forecast import (
    Expectation,
    best_of,
    expected_in_words,
    forecast,
    forecasts,
    plan_in_words,
    too_few_in_words,
    with_default_bound,
)
from askew_server.release.job import ReleaseJob
from askew_server.release.plan import MechanismRequest, ReleasePlan, default_mechanism
from askew_server.release.tables import headed, losses

DEMO_EPSILON = Fraction(1)


@dataclass(frozen=True)
class Output:
    """Standard output for a person, or JSON alone, and then what is said goes to standard error."""

    as_json: bool

    def say(self, text: str) -> None:
        """Print a text for a person: on standard output, or with JSON on standard error."""
        click.echo(text, err=self.as_json)

    def show(self, stored: StoredRelease) -> None:
        """Print the release on standard output, as JSON or for a person, and say whether it was
        stored before.
        """
        if self.as_json:
            parts = {
                "release": json.loads(stored.payload),
                "is_repeat": stored.is_repeat,
                "stored_on": stored.request.day,
            }
            click.echo(json.dumps(parts, ensure_ascii=False))
        else:
            click.echo(release_in_words(stored.payload))
        if stored.is_repeat:
            self.say(f"\n{repeat_in_words(stored)}")


def run(
    place: Workplace,
    output: Output,
    *,
    source: EventSource,
    dataset: str | None = None,
    k: int,
    epsilon: Fraction,
    delta: Fraction,
    mechanism: str | None,
    max_items_per_unit: int | None,
    share: Fraction = Fraction(0),
    as_of: str | None = None,
    again: bool = False,
    yes: bool = False,
    dry_run: bool = False,
    expect: str | None = None,
) -> Release | None:
    """Plan, say what a release costs, ask, charge, count, select and store; return the release. A
    dry run looks through the events for faults, asks and charges nothing, and returns None.

    What is stored already is shown, without a look at the events, a plan or a charge. Nothing that
    is said, stored or returned depends on the events, but for what is selected.

    dataset: the one that pays, or the only one. Raises ParameterError, DataError for a file of
    expected counts or events that is none, and AskewError where less than half is expected to be
    right.
    """
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger(place.ledger, place.mark_path))
        data = dataset_of(ledger, dataset)
        expectation = None if expect is None else Expectation.of(expect, k)
        if as_of is not None:
            check_name("as_of", as_of)
        asked = MechanismRequest(  # of any mechanism
            k=k,
            epsilon=epsilon,
            delta=delta,
            neighbors=data.neighbors,
            max_items_per_unit=max_items_per_unit,
            share=share,
        )
        mechanism = mechanism or default_mechanism(known_domain=bool(source.catalog))
        plan = ReleasePlan(
            dataset=data.name,
            version=data.version,
            source=replace(
                source, engine=public_address(place.engine), encoding=place.log_encoding
            ),
            mechanism=mechanism,
            asked=with_default_bound(mechanism, asked),
            expected=None if expectation is None else expectation.origin,
        )
        ranged = data.cap.slack > 0
        request = ledger.newest_request(
            plan.charge_request(ranged=ranged, as_of=as_of, day=today()), again=again
        )
        with ledger.lock(request):  # whoever makes it now is waited for
            stored = ledger.stored(request)
        if stored is not None:
            return _repeat(stored, output, dry_run=dry_run)
        steps = Steps()
        engine = stack.enter_context(opened_engine(place, steps.share))
        ledger.preview(request)  # what is refused is refused before the log is looked at
        n_items = catalog_size(engine, plan.task, plan.least_items)
        foreseen = forecast(plan.mechanism, plan.asked, n_items, expectation)
        lines = plan_in_words(plan, data, foreseen)
        if expectation is not None:
            others = forecasts(asked, n_items, expectation, needs=False)
            best = best_of(others, asked)
            lines += expected_in_words(others, best)
            if not foreseen.finds_half:
                output.say(headed(lines) + "\n")
                raise AskewError(too_few_in_words(foreseen, best, expectation.origin))
        require_events(engine, plan.task)
        output.say(headed(lines) + "\n")
        if dry_run and output.as_json:
            click.echo(json.dumps(foreseen.named()))
        warn_of_sharers(ledger, data.name, place_of(plan.source))
        warn(*catalog_remarks(engine, plan.task))
        engine.look_through(source.events, {source.unit_column, source.item_column})
        if dry_run:
            output.say("A dry run: the budget allows it; nothing was charged, counted or written.")
            return None
        if not yes:
            ask()
        bits = SystemBits()
        job = ReleaseJob(ledger, EventCounter(engine, bits), bits, steps.step)
        stored = job.publish(plan, request)
        spent = ledger.dataset(data.name).spent
    output.show(stored)
    output.say(f"\nspent of data set {data.name} now: {losses(spent.epsilon, spent.delta)}")
    return release_from_bytes(stored.payload)


def _repeat(stored: StoredRelease, output: Output, *, dry_run: bool) -> Release | None:
    if not dry_run:
        output.show(stored)
        return release_from_bytes(stored.payload)
    if output.as_json:
        click.echo(json.dumps({"is_repeat": True, "stored_on": stored.request.day}))
    output.say(f"A dry run: {repeat_in_words(stored)}.")
    return None


def today() -> str:
    """Return the date in UTC, such as "2026-11-29". It is taken before the events are looked at."""
    return datetime.now(UTC).date().isoformat()


def repeat_in_words(stored: StoredRelease) -> str:
    """Return a phrase that says on which day a release was stored, that nothing was counted, and
    that --as-of or --again asks for another.
    """
    return (
        f"stored on {stored.request.day}, nothing counted or spent; --as-of or --again for another"
    )


@contextmanager
def opened_engine(place: Workplace, progress: Progress | None = None) -> Iterator[Engine]:
    """Yield the engine of a workplace, opened, and close it when the body of the `with` ends."""
    engine = open_engine(
        place.engine,
        progress=progress,
        encoding=place.log_encoding,
    )
    try:
        yield engine
    finally:
        engine.close()


def warn(*texts: str) -> None:
    """Print each text on standard error as a warning to the operator."""
    for text in texts:
        click.echo(f"warning: {text}\n", err=True)


def warn_of_sharers(ledger: Ledger, dataset: str, place: bytes) -> None:
    """Warn the operator of other data sets that were charged for events of this place, as
    `place_of` has it; say nothing where there are none.
    """
    if sharers := ledger.datasets_sharing(dataset, place):
        warn(
            f"{', '.join(sharers)} was charged for these events too, or for what was there"
            " before. Who is in them loses what all of these data sets spend together, and no cap"
            " adds it up."
        )


def ask() -> None:
    """Ask before a spend, if somebody at a terminal is there to answer; else go on. Raises
    click.Abort for a no.
    """
    if sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm("Spend it?", abort=True, err=True)


def demo(
    output: Output, *, source: EventSource, epsilon: Fraction, delta: Fraction, **asked: Any
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
        output.say(f"SIMULATED events: which of {N_PEOPLE:,} made-up people saw which film.\n")
        events, catalog = (str(folder / f"{name}.csv") for name in ("events", "catalog"))
        own = asked | {
            "source": replace(source, events=events, catalog=catalog),
            "dataset": "demo",
            "yes": True,  # nobody's budget
        }
        release = run(place, output, epsilon=epsilon, delta=delta, **own)
    if release:
        top = {item for item, _ in counts[: release.k]}
        hits = len(top & set(release.items))
        output.say(f"Of the true top {release.k}, known here because nobody is in it: {hits}.")


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

"""One release as an operator sees it: the plan in words, the steps as they come, the list."""

from __future__ import annotations

import hmac
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from askew.dp.composition import PrivacyFilter
from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.dp.release import PRIVACY_UNIT, Release, release_from_bytes
from askew.errors import AskewError, LedgerError, ParameterError
from askew.noise.randomness import SystemBits
from askew_server.cli.options import Workplace
from askew_server.cli.progress import Steps
from askew_server.cli.releases import release_in_words
from askew_server.counting import CountingTask, Engine, EventCounter, EventSource
from askew_server.counting.bounding import (
    catalog_remarks,
    catalog_size,
    require_events,
    uncounted_events,
)
from askew_server.counting.engines import open_engine, public_address
from askew_server.counting.engines.driver import is_file
from askew_server.counting.key_store import keep_key, known_or_new_key
from askew_server.interruptible import Progress
from askew_server.ledger import ChargeRequest, Dataset, EventDigests, Ledger
from askew_server.ledger.records import check_name
from askew_server.release.forecast import (
    Expectation,
    Forecast,
    best_of,
    expected_in_words,
    forecast,
    forecasts,
    plan_in_words,
    too_few_in_words,
    with_default_bound,
)
from askew_server.release.job import ReleaseJob
from askew_server.release.plan import ReleasePlan, place_of
from askew_server.release.selectors import MechanismRequest, default_mechanism
from askew_server.release.tables import headed, losses

DEMO_EPSILON = Fraction(1)

_AS_OF = "the name of its state, such as a date: it does not tell whether it has changed"


@dataclass(frozen=True)
class Output:
    """Standard output for a person, or JSON alone, and then what is said goes to standard error."""

    as_json: bool

    def say(self, text: str) -> None:
        """Something for a person."""
        click.echo(text, err=self.as_json)

    def show(self, payload: bytes) -> None:
        """The release."""
        click.echo(payload if self.as_json else release_in_words(payload))


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
    key: str | None = None,
    as_of: str | None = None,
    dry_run: bool = False,
    yes: bool = False,
    expect: str | None = None,
) -> Release | None:
    """Plan, say what it costs, ask, and unless it is a dry run, charge, count, select, store.

    dataset: the one that pays, or the only one. Raises ParameterError, and DataError for a file of
    expected counts that is none.
    """
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger(place.ledger, place.mark_path))
        data = dataset_of(ledger, dataset)
        expectation = None if expect is None else Expectation.of(expect, k)
        if as_of is not None:
            check_name("as_of", as_of)
        elif not is_file(source.events):
            raise ParameterError("as_of", None, _AS_OF)
        asked = MechanismRequest(  # of any mechanism
            k=k,
            epsilon=epsilon,
            delta=delta,
            neighbors=data.neighbors,
            max_items_per_unit=max_items_per_unit,
        )
        mechanism = mechanism or default_mechanism(known_domain=bool(source.catalog))
        plan = ReleasePlan(
            dataset=data.name,
            version=data.version,
            source=replace(source, engine=public_address(place.engine)),
            mechanism=mechanism,
            asked=with_default_bound(mechanism, asked),
            expected=None if expectation is None else expectation.origin,
        )
        steps = stack.enter_context(Steps.shown())
        engine = stack.enter_context(opened_engine(place, steps.share))
        n_items = catalog_size(engine, plan.task, plan.least_items)
        steps.pause()
        foreseen = forecast(plan.mechanism, plan.asked, n_items, expectation)
        lines, refusal = plan_in_words(plan, data, foreseen), None
        if expectation is not None:
            found = forecasts(asked, n_items, expectation, needs=False)
            best = best_of(found, asked)
            lines += expected_in_words(found, best)
            if not foreseen.finds_half:
                refusal = too_few_in_words(foreseen, best, expectation.origin)
        output.say(headed(lines) + "\n")
        if refusal:
            raise AskewError(refusal)
        require_events(engine, plan.task)  # the log is not looked at before this
        warn(*catalog_remarks(engine, plan.task))
        secret = known_or_new_key(place.bounding_key_path)
        engine.look_through(plan.source.events, {plan.source.unit_column, plan.source.item_column})
        state = state_of(engine, plan.source, as_of, secret)
        request = plan.charge_request(key, ranged=data.cap.slack > 0, state=state)
        warn_of_events(ledger, request, output.say)
        if dry_run:
            _rehearse(ledger, output, request, foreseen)
            return None
        if not yes:
            ask(ledger, request)
        keep_key(place.bounding_key_path, secret)
        count = EventCounter(engine, secret)
        stored = ReleaseJob(ledger, count, SystemBits(), steps.step).publish(plan, request)
        spent = ledger.dataset(data.name).spent
        is_new = spent != data.spent
        warning = _uncounted(engine, plan.task) if is_new else None
    output.show(stored.payload)
    if not is_new:
        output.say(
            "\nThis request was released before, of the same events: the same bytes, and no new"
            " charge."
        )
    output.say(f"\nspent of data set {data.name} now: {losses(spent.epsilon, spent.delta)}")
    if warning:
        click.echo(f"\nwarning: {warning}", err=True)
    return release_from_bytes(stored.payload)


@contextmanager
def opened_engine(
    place: Workplace,
    progress: Progress | None = None,
) -> Iterator[Engine]:
    """The engine of a workplace, until it is no longer needed."""
    engine = open_engine(
        place.engine,
        memory_limit=place.memory_limit,
        progress=progress,
        encoding=place.encoding or "utf-8",
    )
    try:
        yield engine
    finally:
        engine.close()


def state_of(engine: Engine, source: EventSource, as_of: str | None, key: bytes) -> bytes:
    """Which events these are: the operator's word for it, or what files hold, under the secret key,
    as its digest would tell whoever knows all of a log but one person.

    Raises ParameterError without a word for files that are not of this machine.
    """
    held = engine.mark(source.events, key)
    if as_of is not None:
        return hmac.digest(key, b"askew as of" + place_of(source) + as_of.encode(), "sha256")
    if held is None:
        raise ParameterError("as_of", None, _AS_OF)
    return held


def warn_of_events(ledger: Ledger, request: ChargeRequest, say: Callable[[str], object]) -> None:
    """What the operator should know of the events before a spend."""
    if request.events is not None:
        warn_of_sharers(ledger, request.dataset, request.events)
    earlier = ledger.made_of_other_events(request)
    if earlier is not None:
        say(
            f"The events have changed since charge {earlier}, which was the same request: this is"
            " another release, and it is paid.\n"
        )


def warn(*texts: str) -> None:
    """Say what the operator should know."""
    for text in texts:
        click.echo(f"warning: {text}\n", err=True)


def warn_of_sharers(ledger: Ledger, dataset: str, events: EventDigests) -> None:
    """Say which other data sets were charged for the same events."""
    if sharers := ledger.sharers(dataset, events):
        warn(
            f"{', '.join(sharers)} was charged for these events too, or for what was there"
            " before. Who is in them loses what all of these data sets spend together, and no cap"
            " adds it up."
        )


def _rehearse(ledger: Ledger, output: Output, request: ChargeRequest, found: Forecast) -> None:
    """Say whether the budget allows it. Raises what the charge would raise."""
    if output.as_json:
        click.echo(json.dumps(found.named()))
    stored = ledger.foresee(request)
    news = "the budget allows it" if stored is None else "it was released before and costs nothing"
    output.say(f"A dry run: {news}; nothing was charged, counted or written.")


def ask(ledger: Ledger, request: ChargeRequest) -> None:
    """Ask before a spend, if somebody is there to answer. Raises click.Abort, and what the charge
    would raise: nobody is asked about what is refused.
    """
    somebody = sys.stdin.isatty() and sys.stderr.isatty()
    if somebody and ledger.foresee(request) is None:
        click.confirm("Spend it?", abort=True, err=True)


def demo(
    output: Output, *, source: EventSource, epsilon: Fraction, delta: Fraction, **asked: Any
) -> None:
    """A release from simulated events, in a folder that is gone afterwards. Arguments: `run`.

    source: its columns; the events and the catalog are the demo's own.
    """
    from askew_server.demo.simulation import N_PEOPLE, write_events

    with tempfile.TemporaryDirectory(prefix="askew-") as name:
        folder = Path(name)
        made = write_events(folder)
        place = Workplace(ledger=folder / "ledger.sqlite")
        cap = PrivacyFilter(epsilon=2 * epsilon, delta=2 * delta)
        with Ledger(place.ledger, place.mark_path) as ledger:
            ledger.open_dataset("demo", "1", cap, PRIVACY_UNIT, ADD_OR_REMOVE_ONE)
        output.say(f"SIMULATED events: which of {N_PEOPLE:,} made-up people saw which film.\n")
        own = asked | {
            "source": replace(source, events=str(made.events), catalog=str(made.catalog)),
            "dataset": "demo",
            "yes": True,  # nobody's budget
        }
        release = run(place, output, epsilon=epsilon, delta=delta, **own)
    if release:
        top = {item for item, _ in made.counts[: release.k]}
        hits = len(top & set(release.items))
        output.say(f"Of the true top {release.k}, known here because nobody is in it: {hits}.")


def _uncounted(engine: Engine, task: CountingTask) -> str | None:
    """What the operator alone should know of a log with holes, once its release is stored."""
    try:
        events = uncounted_events(engine, task)
    except Exception as error:  # whatever it is, the release is made and paid for
        return f"how many events could not be counted is unknown ({type(error).__name__})"
    if not events:
        return None
    return (
        f"events without a unit or an item, not counted: {events}."
        " This number is exact and private: do not publish it."
    )


def dataset_of(ledger: Ledger, name: str | None) -> Dataset:
    """The data set of this name, or the only one."""
    if name is not None:
        return ledger.dataset(name)
    datasets = ledger.datasets()
    if len(datasets) != 1:
        names = ", ".join(each.name for each in datasets) or "none yet; see ledger open --help"
        raise LedgerError(f"name the data set that pays with --dataset: {names}")
    return datasets[0]

"""One release as an operator sees it: the plan in words, the steps as they come, the list."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew.errors import LedgerError
from askew.odometer import PrivacyBudget
from askew.privacy import ADD_OR_REMOVE_ONE
from askew.randomness import SystemBits
from askew.release import PRIVACY_UNIT, Release, release_from_bytes
from askew_server.cli.engine import EventCounter, opened_engine
from askew_server.cli.options import Workplace
from askew_server.cli.releases import release_in
from askew_server.counting import ContributionBound, CountingTask, Engine
from askew_server.counting.bounding import require_countable, uncounted_events
from askew_server.counting.engines.address import public_address
from askew_server.counting.key_store import stored_key
from askew_server.ledger import ChargeRequest, Dataset, Ledger
from askew_server.release.forecast import COLUMNS, Forecast, forecast
from askew_server.release.job import ReleaseJob
from askew_server.release.plan import EventSource, ReleasePlan
from askew_server.release.selectors import default_bound, default_mechanism
from askew_server.release.tables import headed, rows_in
from askew_server.release.words import losses, plan_in_words

if TYPE_CHECKING:
    from rich.status import Status

DEMO_EPSILON = Fraction(1)
_SOURCE = [each.name for each in fields(EventSource) if each.name != "engine"]


@dataclass(frozen=True)
class Output:
    """Standard output in one form; what is said beside json and csv goes to standard error."""

    form: str

    def say(self, text: str) -> None:
        """Something for a person."""
        click.echo(text, err=self.form != "table")

    def show(self, payload: bytes) -> None:
        """The release."""
        click.echo(release_in(self.form, payload))


@dataclass(frozen=True, kw_only=True)
class Order:
    """What an operator asks for. Everything in it is public."""

    events: str
    catalog: str | None
    unit_column: str
    item_column: str
    catalog_item_column: str
    k: int
    epsilon: Fraction
    delta: Fraction
    mechanism: str | None
    max_items_per_unit: int | None
    dataset: str | None = None
    key: str | None = None
    dry_run: bool = False
    yes: bool = False

    def plan(self, data: Dataset, engine: str) -> ReleasePlan:
        """The plan of this order, on this data set and engine address. Raises ParameterError."""
        source = {name: getattr(self, name) for name in _SOURCE}
        mechanism = self.mechanism or default_mechanism(known_domain=bool(self.catalog))
        most = self.max_items_per_unit
        most = default_bound(mechanism) if most is None else most
        return ReleasePlan(
            dataset=data.name,
            version=data.version,
            source=EventSource(engine=public_address(engine), **source),
            k=self.k,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=mechanism,
            neighbors=data.neighbors,
            bound=None if most is None else ContributionBound(most),
        )


def run(place: Workplace, output: Output, order: Order) -> Release | None:
    """Plan, say what it costs, ask, and unless it is a dry run, charge, count, select, store."""
    with ExitStack() as stack:
        book = stack.enter_context(Ledger(place.ledger, place.anchor_path))
        data = _dataset(book, order.dataset)
        plan = order.plan(data, place.engine)
        steps = stack.enter_context(_Steps.on_a_terminal())
        engine = stack.enter_context(opened_engine(place, steps.share))
        n_items = require_countable(engine, plan.task, plan.least_items)
        steps.pause()
        output.say(headed(plan_in_words(plan, data, n_items)) + "\n")
        request = plan.charge_request(order.key, ranged=data.cap.slack > 0)
        if order.dry_run:
            _rehearse(book, output, request, forecast(plan.mechanism, plan.wish, n_items))
            return None
        _ask(book, request, order)
        count = EventCounter(engine, stored_key(place.bounding_key_path))
        stored = ReleaseJob(book, count, SystemBits(), steps.step).publish(plan, request)
        spent = book.dataset(data.name).spent
        is_new = spent != data.spent
        warning = _uncounted(engine, plan.task) if is_new else None
    output.show(stored.payload)
    if not is_new:
        output.say("\nThis request was released before: the same bytes, and no new charge.")
    output.say(f"\nspent of data set {data.name} now: {losses(spent.epsilon, spent.delta)}")
    if warning:
        click.echo(f"\nwarning: {warning}", err=True)
    return release_from_bytes(stored.payload)


def _rehearse(book: Ledger, output: Output, request: ChargeRequest, found: Forecast) -> None:
    """Say whether the budget allows it. Raises what the charge would raise."""
    if output.form == "json":
        click.echo(json.dumps(found.named()))
    elif output.form == "csv":
        click.echo(rows_in("csv", COLUMNS, [found.row()]))
    stored = book.foresee(request)
    news = "the budget allows it" if stored is None else "it was released before and costs nothing"
    output.say(f"A dry run: {news}; nothing was charged, counted or written.")


def _ask(book: Ledger, request: ChargeRequest, order: Order) -> None:
    """Ask before a spend, if somebody is there to answer. Raises click.Abort, and what the charge
    would raise: nobody is asked about what is refused.
    """
    somebody = sys.stdin.isatty() and sys.stderr.isatty()
    if somebody and not order.yes and book.foresee(request) is None:
        click.confirm("Spend it?", abort=True, err=True)


def demo(output: Output, order: Order) -> None:
    """A release from simulated events, in a folder that is gone afterwards."""
    from askew_server.demo.events import N_PEOPLE, write_events

    with tempfile.TemporaryDirectory(prefix="askew-") as name:
        folder = Path(name)
        made = write_events(folder)
        place = Workplace(ledger=folder / "ledger.sqlite")
        cap = PrivacyBudget(epsilon=2 * order.epsilon, delta=2 * order.delta)
        with Ledger(place.ledger, place.anchor_path) as book:
            book.open_dataset("demo", "1", cap, PRIVACY_UNIT, ADD_OR_REMOVE_ONE)
        output.say(f"SIMULATED events: which of {N_PEOPLE:,} made-up people saw which film.\n")
        own = replace(
            order,
            events=str(made.events),
            catalog=str(made.catalog),
            dataset="demo",
            yes=True,  # nobody's budget
        )
        release = run(place, output, own)
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


def _dataset(book: Ledger, name: str | None) -> Dataset:
    """The data set of this name, or the only one."""
    if name is not None:
        return book.dataset(name)
    datasets = book.datasets()
    if len(datasets) != 1:
        names = ", ".join(each.name for each in datasets) or "none yet; see ledger open --help"
        raise LedgerError(f"name the data set that pays with --dataset: {names}")
    return datasets[0]


@dataclass(frozen=True)
class _Steps:
    """Says each step on a terminal, and how far a count is; nothing anywhere else."""

    status: Status | None

    @classmethod
    @contextmanager
    def on_a_terminal(cls) -> Iterator[_Steps]:
        """The steps on this terminal, until the work is done."""
        if not sys.stderr.isatty():
            yield cls(None)
            return
        from rich.console import Console

        with Console(stderr=True).status("checking ...") as status:
            yield cls(status)

    def step(self, name: str) -> None:
        """A step begins."""
        if self.status is not None:
            self.status.update(f"{name} ...")
            self.status.start()

    def share(self, done: float) -> None:
        """How much of the counting is done."""
        if self.status is not None:
            self.status.update(f"counting ... {done:.0%}")

    def pause(self) -> None:
        """Leaves the terminal to what is said or asked now."""
        if self.status is not None:
            self.status.stop()

"""`askew-server release`: from events to a published popularity list."""

from __future__ import annotations

from typing import Any

import click

from askew_server.cli.options import (
    POSITIVE,
    RATIONAL,
    Workplace,
    again_options,
    as_json,
    bound_option,
    counts_option,
    dry_run_option,
    engine_options,
    existing,
    expect_option,
    k_option,
    ledger_options,
)
from askew_server.cli.progress import when_stopped
from askew_server.counting import EventSource

_STOPPED = "\nstopped; a charge that was made stays spent (askew-server ledger show)"


@click.command()
@click.option("--events", help="FILE (csv, csv.gz, parquet) or TABLE of the engine.")
@click.option("--catalog", help="FILE or TABLE of every item there is; makes the items public.")
@k_option
@click.option("--epsilon", type=POSITIVE, help="Epsilon of the whole list.")
@click.option("--delta", type=RATIONAL, default="0", show_default=True, help="Its delta.")
@click.option(
    "--mechanism",
    help="How to select.  [default: canonical with a catalog, limited-domain without]",
)
@counts_option
@bound_option
@click.option("--unit-column", default="unit", show_default=True, help="Whose event it is.")
@click.option(
    "--item-column", default="item", show_default=True, help="What was chosen; also in the catalog."
)
@click.option("--dataset", help="Whose budget pays.  [default: the only one in the ledger]")
@again_options
@dry_run_option
@expect_option
@click.option("--demo", is_flag=True, help="Release from simulated events; nothing is kept.")
@engine_options
@as_json
@ledger_options
def release(demo: bool, as_json: bool, **asked: Any) -> None:
    """Publish the most popular items of a log of events, with differential privacy.

    Prints first some twelve lines: what it will spend, how many users the list needs and how far
    off it can be. A terminal then asks for a yes (a no is exit 130); elsewhere it goes on. It
    charges, counts, selects and stores, and prints the release, a line an item, and what is spent
    now. With --json standard output has one JSON line, release, is_repeat and stored_on, and all
    else is on standard error, as the steps always are.

    The same request gives the stored release and costs nothing, whatever became of the events: ask
    for another by --as-of with another date, or by --again.

    With --expect it says what every mechanism is expected to find, proposes the best, and refuses
    (exit 1) what is expected to find less than half, before the log is looked at.

    Without --catalog the items themselves are private, and only what passes a noisy threshold is
    listed: the mechanism is then limited-domain or laplace-domain, and needs a --delta.

    Exit code 3: the budget does not allow it, or would not (--dry-run), and nothing was counted.

    \b
    Examples:
      askew-server release --demo
      askew-server release --events log.parquet --catalog films.csv \\
        --epsilon 1 --expect 1200 --dry-run
      askew-server release --events log.csv -k 10 --epsilon 1 --delta 1e-8 \\
        --as-of 2026-11-29 --json
    """
    if demo and (asked["events"] or asked["catalog"] or asked["dataset"]):
        raise click.UsageError(
            "--demo brings its own events, catalog and budget: leave these options out"
        )
    if not demo and (asked["events"] is None or asked["epsilon"] is None):
        raise click.UsageError("name what to count and what to spend: --events and --epsilon")
    from askew_server.cli import release_run

    work = {name: asked.pop(name) for name in ("ledger", "mark", "engine", "encoding")}
    columns = ("events", "catalog", "unit_column", "item_column")
    named = {name: asked.pop(name) for name in columns}
    source = EventSource(**named | {"events": named["events"] or ""})  # the demo brings its own
    with when_stopped(_STOPPED):
        if demo:
            del asked["dataset"]
            asked["epsilon"] = asked["epsilon"] or release_run.DEMO_EPSILON
            release_run.demo(source=source, as_json=as_json, **asked)
        else:
            existing(work["ledger"], work["mark"])
            release_run.run(Workplace(**work), source=source, as_json=as_json, **asked)

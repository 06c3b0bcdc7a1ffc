"""`askew-server releases`: what is stored, read-only."""

from __future__ import annotations

import json
from pathlib import Path

import click

from askew.dp.release import release_from_bytes
from askew_server.cli.options import as_json, ledger_option
from askew_server.published.reader import ReleaseReader
from askew_server.release.tables import Row, aligned, headed, within_in_words

_COLUMNS = ("charge", "dataset", "mechanism", "items", "epsilon", "delta")
_PAGE = 1000


@click.group()
def releases() -> None:
    """Stored releases. Looking at them costs nothing.

    Without a command, this help goes to standard error, and the exit code is 2.
    """


@releases.command("list")
@click.option("--dataset", default="", help="Only this data set.")
@as_json
@ledger_option
def list_releases(dataset: str, as_json: bool, ledger: Path) -> None:
    """List the stored releases, oldest first.

    Prints a table: a line of names, charge, dataset, mechanism, items (how many), epsilon, delta,
    and a line a release; the first alone if there is none. --json: one array of such objects.

    \b
    Example:
      askew-server releases list --json
    """
    reader = ReleaseReader(ledger)
    rows: list[Row] = []
    more, after = True, 0
    while more:
        summaries, more = reader.page(dataset, after, _PAGE)
        for summary in summaries:
            after = summary.charge
            row: Row = {
                "charge": after,
                "dataset": summary.dataset,
                "mechanism": summary.mechanism,
                "items": summary.n_items,
                "epsilon": str(summary.epsilon),
                "delta": str(summary.delta),
            }
            rows.append(row)
    click.echo(json.dumps(rows, ensure_ascii=False) if as_json else aligned(_COLUMNS, rows))


@releases.command()
@click.argument("charge", type=click.IntRange(1))
@as_json
@ledger_option
def show(charge: int, as_json: bool, ledger: Path) -> None:
    """Show one release. As JSON, it is the very bytes that are stored.

    Otherwise some six lines, charge to order, an empty line, and a table of place and item, with
    noisy counts if it has them. CHARGE is a number of releases list; another is exit 1.

    \b
    Example:
      askew-server releases show 7 --json > release.json
    """
    document = ReleaseReader(ledger).named(charge)
    click.echo(document if as_json else release_in_words(document))


def release_in_words(document: bytes) -> str:
    """Return a stored release's bytes in words for a person: lines headed charge, mechanism, loss,
    protects, counted, order and, for noisy counts, counts; an empty line; and a table of its items
    by place, from 1 on, with noisy counts if it has them. Raises WireError.
    """
    release = release_from_bytes(document)
    rows: list[Row] = [
        {"place": place, "item": item} for place, item in enumerate(release.items, start=1)
    ]
    shown: tuple[str, ...] = ("place", "item")
    if release.counts is not None:
        shown = (*shown, "count")
        rows = [{**row, "count": n} for row, n in zip(rows, release.counts, strict=True)]
    parameters = ", ".join(f"{name} {value}" for name, value in release.parameters.items())
    bound = release.max_items_per_unit
    order = "best first" if release.ranked else "a set, listed in the order of names"
    lines = [
        ("charge", f"{release.charge}, of data set {release.dataset}"),
        ("mechanism", f"{release.mechanism} ({parameters})"),
        ("loss", f"epsilon {release.loss.epsilon}, delta {release.loss.delta}"),
        ("protects", f"one person's whole history; neighbors: {release.loss.neighbors.value}"),
        ("counted", f"at most {bound} items of one person" if bound else "all items of a person"),
        ("order", order + ("; a threshold ended it" if release.stopped else "")),
    ]
    if release.counts is not None:
        within = within_in_words(release.each_within, release.all_within)
        lines.append(("counts", f"noisy: {within}"))
    return headed(lines) + "\n\n" + aligned(shown, rows)

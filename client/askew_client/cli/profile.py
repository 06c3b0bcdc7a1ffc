"""`askew profile`: what the device knows of its person, and what becomes of it.

Titles are read from standard input, a file or a prompt: an argument would be seen by every program
on the machine.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew_client.cli import options
from askew_client.cli.options import tell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from askew_client.profile.document import State
    from askew_client.profile.store import ProfileService

_data = options.data
_USUAL = 5  # where most scales end


@click.group()
def profile() -> None:
    """Rate titles, take that back, import, export, wipe.

    Titles never go on the command line, which other programs can read. Without a command, this help
    goes to standard error, and the exit code is 2.

    \b
    Examples:
      askew profile add
      askew profile import ml-latest-small.zip
      askew profile list --json
      askew profile undo
    """


@profile.command("add")
@_data
@click.pass_context
def add(context: click.Context, data: Path | None) -> None:
    """Rate titles: lines "title,rating" on standard input, or a prompt in a terminal.

    A line without a rating is a like. Prints one line on standard error, such as "2 titles rated;
    ...", and asks no yes. A line that is no title and rating: exit 1, and nothing is kept.

    \b
    Examples:
      askew profile add
      askew profile add < new-ratings.csv
    """
    from askew_client.profile.files import read_titles

    desk = _desk(context, data)
    lines = sys.stdin.read().splitlines() if not sys.stdin.isatty() else _prompted_ratings()
    named = bool(lines) and [part.strip() for part in lines[0].split(",")] == ["title", "rating"]
    if not named:
        lines = [line if "," in line or not line.strip() else f"{line}," for line in lines]
    changes = read_titles(lines, "standard input", named=named)
    _tell_rated(changes, desk.edit(changes))


@profile.command("remove")
@click.option("--for-good", is_flag=True, help="From the edits and past answers too; no undo.")
@_data
@click.pass_context
def remove(context: click.Context, for_good: bool, data: Path | None) -> None:
    """Forget ratings: one title a line on standard input, or a prompt in a terminal.

    The titles stay in the file, for `askew profile undo`. With --for-good they are overwritten
    there, and so is every past answer that names one; this works after a plain removal too. No yes
    is asked. Prints on standard error "2 ratings removed; ...", or two lines with --for-good. A
    title that is not rated is no error, and not counted.

    \b
    Examples:
      askew profile remove < titles.txt
      askew profile remove --for-good < titles.txt
    """
    desk = _desk(context, data)
    lines = sys.stdin.read().splitlines() if not sys.stdin.isatty() else _prompted_titles()
    titles = [line.strip() for line in lines if line.strip()]
    if for_good:
        found, answers = desk.forget(titles)
        gone = f"{_count(found, 'title')} and {_count(answers, 'past answer')}"
        tell(f"{gone} forgotten for good")
        tell("copies made by backups or by the disk itself are out of reach")
        return
    removed = desk.edit(dict.fromkeys(titles, ())) if titles else 0
    kept = "; `askew profile undo` still knows them, until `remove --for-good`" if removed else ""
    tell(f"{_count(removed, 'rating')} removed{kept}")


@profile.command("list")
@options.all_of(_data, options.as_json)
@click.pass_context
def list_ratings(context: click.Context, data: Path | None, as_json: bool) -> None:
    """List what is rated, newest first.

    A line each, "  4.5  Alien (1979)", or " like  Heat (1995)"; none where nothing is rated.
    --json: one array of objects, title and rating, null for a like.

    \b
    Example:
      askew profile list | head
    """
    rated = _desk(context, data).ratings()
    if as_json:
        options.print_json([{"title": rating.label, "rating": rating.rating} for rating in rated])
        return
    for rating in rated:
        click.echo(
            f"{'like' if rating.rating is None else f'{rating.rating:g}':>5}  {rating.label}"
        )


@profile.command("undo")
@_data
@click.pass_context
def undo(context: click.Context, data: Path | None) -> None:
    """Take the last edit back; an import is one edit.

    Asks nothing. One line on standard error: "undone: the last edit, of 2 titles; rated now: 0
    titles", or "there is nothing to undo; ...", also with exit 0.
    """
    desk = _desk(context, data)
    changed = desk.undo()
    undone = f"undone: the last edit, of {_count(changed, 'title')}"
    rated = f"rated now: {_count(len(desk.ratings()), 'title')}"
    tell(f"{undone if changed else 'there is nothing to undo'}; {rated}")


@profile.command("import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, allow_dash=True))
@click.option(
    "--user", type=int, help="Whose, by userId, where MovieLens' file has those of many people."
)
@_data
@click.pass_context
def import_ratings(context: click.Context, file: Path, user: int | None, data: Path | None) -> None:
    """Import a csv "title,rating", or an export of Letterboxd or MovieLens: a directory, a zip, or
    its ratings.csv.

    MovieLens' ratings.csv has numbers for titles, so its movies.csv lies beside it. Asks no yes,
    and prints one line on standard error, "12 titles rated; ...". A file that cannot be read, or
    has several people and no --user: exit 1, and nothing is kept.

    \b
    Examples:
      askew profile import my-ratings.csv
      askew profile import ml-latest-small/ratings.csv --user 7
      askew profile import letterboxd-me-2026-11-23.zip
      askew profile import - < my-ratings.csv
    """
    from askew_client.profile.files import read_export, read_titles

    desk = _desk(context, data)
    if str(file) == "-":
        changes = read_titles(sys.stdin.read().splitlines(), "standard input")
    else:
        changes = read_export(file, "" if user is None else str(user))
    _tell_rated(changes, desk.edit(changes))


@profile.command("export")
@_data
@click.pass_context
def export(context: click.Context, data: Path | None) -> None:
    """Print the ratings as csv, to be imported again.

    The line "title,rating", then a line each, oldest first: "Alien (1979),4.5", a like "Heat,".

    \b
    Example:
      askew profile export > my-ratings.csv
    """
    from askew_client.profile.files import as_csv

    click.echo(as_csv(_desk(context, data).ratings()), nl=False)


@profile.command("wipe")
@_data
@click.pass_context
def wipe(context: click.Context, data: Path | None) -> None:
    """Forget ratings, past answers and named places. The ledger stays: it counts what has left.

    Asks for a yes; a no, or no answer, wipes nothing: "stopped", exit 130. Then the file is
    overwritten and removed, and one line on standard error says so. Copies that the disk, the file
    system or a backup made are out of reach.
    """
    click.confirm("Forget every rating, place and past answer?", abort=True, err=True)
    _desk(context, data).wipe()
    tell("the profile is gone; copies made by backups or by the disk itself are out of reach")


def _desk(context: click.Context, data: Path | None) -> ProfileService:
    from askew_client.profile.store import ProfileService

    return ProfileService(options.open_profile(options.load(context, data=data).data))


def _prompted_titles() -> list[str]:
    titles: list[str] = []
    while title := click.prompt("Title (empty to end)", default="", show_default=False, err=True):
        titles.append(title)
    return titles


def _prompted_ratings() -> list[str]:
    import csv
    import io

    text = io.StringIO()
    while title := click.prompt("Title (empty to end)", default="", show_default=False, err=True):
        rating = click.prompt("Rating (empty for a like)", default="", show_default=False, err=True)
        csv.writer(text).writerow((title, rating))
    return text.getvalue().splitlines()


def _tell_rated(changes: Mapping[str, State], changed: int) -> None:
    already = len(changes) - changed
    same = f"; {already} of them were rated so already" if already else ""
    undo = "; `askew profile undo` takes this back" if changed else ""
    tell(f"{_count(len(changes), 'title')} rated{same}{undo}")
    beyond = sum(1 for state in changes.values() if state and (state[0] or 0) > _USUAL)
    if beyond:
        tell(f"{beyond} above {_USUAL}, which a server with a lower scale takes for its best")


def _count(number: int, things: str) -> str:
    return f"{number} {things}{'' if number == 1 else 's'}"

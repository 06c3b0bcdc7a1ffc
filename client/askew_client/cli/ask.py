"""`askew ask`, `askew catalog`, `askew refresh`: titles asked for, and what is held of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from askew.errors import ProfileError
from askew_client.cli import options
from askew_client.cli.options import tell

if TYPE_CHECKING:
    from askew_client.profile.store import ProfileStore
    from askew_client.settings.config import Config
    from askew_client.views.answers import Answer, Rated, Refreshed
    from askew_client.views.cost import Cost


@click.command()
@click.option(
    "--ratings",
    type=click.File("r", encoding="utf-8-sig"),
    help='A csv file "title,rating", or - for standard input, in place of the stored profile.',
)
@options.all_of(
    options.server,
    options.k,
    options.epsilon_per_rating,
    options.mode,
    options.data,
    options.as_json,
)
@click.option(
    "--unmatched",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the ratings of titles that this device does not know to this file.",
)
@click.pass_context
def ask(
    context: click.Context,
    /,
    ratings: TextIO | None,
    as_json: bool,
    unmatched: Path | None,
    **flags: object,
) -> None:
    """Find what is best for you, ranked in private.

    This device ranks the titles that it holds, and sends no signal. It fetches the catalog's file
    first, if it holds none: the same for everybody. With --mode ask it sends a noisy signal too,
    and ranks what the server brings beside them.

    The stored profile is used (`askew profile`), or a file of ratings, which stays on this device.
    In mode ask, one noisy signal is drawn and charged each month; asking again sends the same one.
    It says on standard error what a new one costs, and a terminal asks for a yes before a second
    one within a month; elsewhere that is refused, exit 3. Ratings of titles that this device does
    not know are left out; --unmatched writes them to a file.

    Prints a line a title, best first, "* Alien (1979)", with "*" before the pick, then in
    parentheses the source, the mode and what was spent. With --json: one object on one line.

    \b
    Examples:
      askew ask
      askew ask --mode ask -k 20 --json
      askew ask --ratings - --unmatched unknown.csv < my-ratings.csv
    """
    config = options.load(context, **flags)
    options.note(f"asking {config.server} ...")
    # Before the first call, so that a wrong file of ratings is refused whatever a server does.
    profile = options.open_profile(config.data) if ratings is None else _passing(ratings)
    found, unmatched_ratings = options.run(_asked(config, profile))
    if as_json:
        options.print_json(_as_json(found))
    else:
        for line in _as_lines(found):
            click.echo(line)
    if unmatched is not None:
        from askew_client.profile.files import as_csv
        from askew_client.storage.private_files import replace_file

        replace_file(unmatched, as_csv(unmatched_ratings))  # for the person alone, to be corrected


async def _asked(config: Config, profile: ProfileStore) -> tuple[Answer, tuple[Rated, ...]]:
    from askew_client.opening import open_device

    opened = open_device(
        config.settings, server=config.server, directory=config.data, profile=profile
    )
    async with opened as device:
        cost = await device.asker.show(device.titles)
        if cost.fresh:  # one that is sent again needs no words
            tell(f"this question costs {_in_words(cost)}")
            month = f"{float(cost.spent_this_month):.4g} of {float(cost.monthly_cap or 0):g}"
            life = f"{float(cost.spent):.4g} of {float(cost.cap):g} for life"
            tell(f"spent before it: {life}, {month} in {cost.month}")
        answer = await device.asker.ask(device.titles, shown=options.agreed(cost))
    # The connection is closed: a server must not hear how long work on ratings takes.
    return answer, device.profile.unmatched()


def _passing(ratings: TextIO) -> ProfileStore:
    from askew_client.profile.document import ProfileDocument
    from askew_client.profile.files import read_titles
    from askew_client.profile.store import PassingProfile

    try:
        lines = ratings.read().splitlines()
    except UnicodeDecodeError:
        raise ProfileError("the file of ratings is not text in UTF-8") from None
    return PassingProfile(ProfileDocument().edited(read_titles(lines)))


_NOTHING_RATED = (
    "(you have rated nothing of this catalog, which no server learns; `askew profile add` rates "
    "titles)"
)


def _as_lines(found: Answer) -> Iterator[str]:
    for result in found.results:
        came = "  (came with the answer)" if result.came else ""
        yield f"{'*' if result.picked else ' '} {result.title}{came}"
    yield f"({found.source}; * is your pick, chosen on this device)"
    if not found.used:
        yield _NOTHING_RATED
    cost = found.cost
    yield f"({cost.mode}: {cost.reason})"
    if cost.sends:
        spent = f"spent {float(cost.spent):.4g} of {float(cost.cap):g}"
        yield f"(this month's signal: {_in_words(cost)}; {spent})"
        if cost.epsilon != cost.wanted:
            yield "(it was drawn earlier this month; your new epsilon counts from next month on)"
    if cost.fresh:
        yield "(a fresh signal was drawn and charged for this month)"
    if found.unused:
        yield (
            f"(this device does not know the titles of {found.unused} of your ratings; "
            "--unmatched FILE writes them)"
        )


def _in_words(cost: Cost) -> str:
    from askew_client.views.cost import at_most

    return (
        f"epsilon {at_most(cost.epsilon, 3)} a rating, {at_most(cost.replaced_title, 3)} where "
        f"a title is replaced; {at_most(cost.at_median, 3)} between two people at the median "
        f"distance, as the server states it, and at most {at_most(cost.between_any_two, 3)} "
        "between any two"
    )


def _as_json(found: Answer) -> dict[str, object]:
    cost = found.cost
    told = {
        "epsilon_per_rating": cost.charge.epsilon_per_rating,
        "epsilon_of_a_replaced_title": cost.replaced_title,
        "epsilon_at_median_distance": cost.at_median,
        "epsilon_between_any_two": cost.between_any_two,
        "spent_per_rating": cost.spent,
        "lifetime_cap_per_rating": cost.cap,
    }
    return {
        "source": found.source,
        "simulated": found.simulated,
        "pick": found.pick.title,
        "results": [result.title for result in found.results],
        "came": [result.title for result in found.results if result.came],
        "used_ratings": found.used,
        "unused_ratings": found.unused,
        "mode": {"name": cost.mode, "why": cost.reason},
        "fresh": cost.fresh,
        "cost": told if cost.sends else None,
    }


@click.command()
@options.all_of(options.server, options.as_json)
@click.pass_context
def catalog(context: click.Context, server: str | None, as_json: bool) -> None:
    """List the titles that this device holds: the whole catalog, or the default items.

    Every device of a server holds the same, so the list says nothing about you. A line each: the
    title, a tab and the genres between commas. With --json: one array of objects, label and genres.
    Where no file is held yet it is fetched; exit code 4 where no server gives it.

    \b
    Example:
      askew catalog | grep -i alien
    """
    titles = options.run(_titles(options.load(context, server=server)))
    if as_json:
        options.print_json([{"label": label, "genres": genres} for label, genres in titles])
        return
    for label, genres in titles:
        click.echo(f"{label}\t{', '.join(genres)}")


@click.command()
@options.all_of(options.server, options.data, options.as_json)
@click.pass_context
def refresh(context: click.Context, server: str | None, data: Path | None, as_json: bool) -> None:
    """Fetch what this device holds of a server's catalog, if it is time.

    For cron or a timer, every few hours: a device looks once a week, a random delay of up to two
    days after Monday, and in between this sends nothing. A question looks only where the file is
    missing or too old. The catalog is the same for everybody, and comes from a static host where
    `held_from` is set. No profile is read. Prints three lines: "held", the catalog's Monday, its
    part and size; "fetched", the bytes of now, 0 if it was not time; and "next look", in UTC.

    \b
    Example:
      askew refresh > /dev/null
    """
    file = options.run(_refreshed(options.load(context, server=server, data=data)))
    if as_json:
        options.print_json(file)
        return
    click.echo(f"held       {file.catalog_date}, {file.part}, {file.size:,} bytes")
    click.echo(f"fetched    {file.fetched:,} bytes")
    click.echo(f"next look  {file.next_look:%Y-%m-%d %H:%M} UTC")


async def _refreshed(config: Config) -> Refreshed:
    from askew_client.opening import open_library

    opened = open_library(config.settings, server=config.server, directory=config.data)
    async with opened as (_, library):
        return await library.refresh()


async def _titles(config: Config) -> list[tuple[str, tuple[str, ...]]]:
    import datetime

    from askew_client.opening import open_library

    opened = open_library(config.settings, server=config.server, directory=config.data)
    async with opened as (_, library):
        held = await library.cached(datetime.date.today())
    return [(item.label, item.genres) for item in held.catalog.items]

"""`askew ask` and `askew catalog`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from askew.errors import ProfileError
from askew_client.cli import options

if TYPE_CHECKING:
    from fractions import Fraction

    from askew_client.profile.store import ProfileStore
    from askew_client.settings.sources import Config
    from askew_client.views.values import Answer, Cost, Quote, Rated

_NOTHING_RATED = (
    "(nothing of this catalog is rated, which no server is told: the question is asked and charged "
    "like any other; `askew profile add` rates titles)"
)
_SECOND_SPACE = (
    "This month has a signal for another feature space already, and a second one tells more about "
    "you. Ask all the same?"
)


@click.command()
@click.option(
    "--ratings",
    type=click.File("r", encoding="utf-8-sig"),
    help='A csv file "title,rating", or - for standard input, in place of the stored profile.',
)
@options.all_of(
    options.server,
    options.k,
    options.epsilon,
    options.mechanism,
    options.lifetime_cap,
    options.data,
    options.as_json,
)
@click.option(
    "--second-space",
    is_flag=True,
    help="Yes to a signal for a second feature space within one month.",
)
@click.option(
    "--unmatched",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the ratings of titles that the catalog does not have to this file.",
)
@click.pass_context
def ask(
    context: click.Context,
    ratings: TextIO | None,
    server: str | None,
    k: int | None,
    epsilon: Fraction | None,
    mechanism: str | None,
    lifetime_cap: Fraction | None,
    data: Path | None,
    as_json: bool,
    second_space: bool,
    unmatched: Path | None,
) -> None:
    """Ask once, and rank the results in private.

    The stored profile is used (`askew profile`), or a file of ratings, which stays on this device.
    One noisy signal is drawn and charged each month; asking again sends the same one. What it costs
    is said before it is sent, and a second feature space within one month is asked about first.
    A title that the catalog does not have stops nothing; --unmatched writes them to a file.

    \b
    Examples:
      askew ask
      askew ask -k 20 --json
      askew ask --ratings - --unmatched unknown.csv < my-ratings.csv
    """
    config = options.load(
        context,
        server=server,
        k=k,
        epsilon=epsilon,
        mechanism=mechanism,
        lifetime_cap=lifetime_cap,
        data=data,
    )
    options.note(f"asking {config.server} ...")
    # Before the first call, so that no error of a profile depends on a server; and a passphrase is
    # typed before there is an event loop, which would swallow Ctrl-C.
    profile = options.open_profile(config.data) if ratings is None else _passing(ratings)
    found, strangers = options.run(_asked(config, profile, second_space=second_space))
    if as_json:
        options.print_json(_as_json(found))
    else:
        for line in _as_lines(found):
            click.echo(line)
    if unmatched is not None:
        _write(strangers, unmatched)


@click.command()
@options.all_of(options.server, options.as_json)
@click.pass_context
def catalog(context: click.Context, server: str | None, as_json: bool) -> None:
    """List the titles that can be rated and recommended.

    The whole catalog is fetched, by everybody, so that it says nothing of whom it is for.

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


async def _asked(
    config: Config, profile: ProfileStore, *, second_space: bool
) -> tuple[Answer, tuple[Rated, ...]]:
    """Say what the question costs, and ask it; and what the catalog does not have.

    The latter is looked for when the connection is closed: until then, a server could hear of it.
    """
    from askew_client.client import open_companion, value_of

    opened = open_companion(
        config.settings, server=config.server, directory=config.data, profile=profile
    )
    async with opened as companion:
        quote = value_of(await companion.quote())
        for line in _quote_lines(quote):
            click.echo(line, err=True)
        if quote.second_space and not second_space and sys.stdin.isatty():
            click.confirm(_SECOND_SPACE, abort=True, err=True)
            second_space = True
        answer = value_of(await companion.ask(second_space=second_space, quoted=quote))
    return answer, companion.unmatched()


def _write(unmatched: tuple[Rated, ...], path: Path) -> None:
    """As a csv for the person alone, to be corrected and imported; an empty one says so too."""
    from askew_client.profile.export import as_csv
    from askew_client.storage.private_file import replace_file

    replace_file(path, as_csv(unmatched))


async def _titles(config: Config) -> list[tuple[str, tuple[str, ...]]]:
    import datetime

    from askew_client.transport.grpc import GrpcTransport
    from askew_client.transport.held import FetchedAnew

    async with GrpcTransport(config.server, config.settings.timeout) as network:
        held = await FetchedAnew(network).holding(datetime.date.today())
    return [(item.label, item.genres) for item in held.catalog.items]


def _passing(ratings: TextIO) -> ProfileStore:
    """The profile of a file, for one question. Raises ProfileError, which names a line."""
    from askew_client.profile.document import ProfileDocument
    from askew_client.profile.import_files import read_titles
    from askew_client.profile.store import PassingProfile

    try:
        lines = ratings.read().splitlines()
    except UnicodeDecodeError:
        raise ProfileError("the file of ratings is not text in UTF-8") from None
    return PassingProfile(ProfileDocument().edited(read_titles(lines)))


def _as_lines(found: Answer) -> Iterator[str]:
    """The ranking as text, the pick marked."""
    for result in found.results:
        yield f"{'*' if result.picked else ' '} {result.title.label}"
    yield f"({found.source}; * is your pick, chosen on this device)"
    if not found.used:
        yield _NOTHING_RATED
    yield from _cost_lines(found.cost)
    if found.departure.fresh:
        yield "(a fresh signal was drawn and charged for this month)"
    if found.unused:
        yield (
            f"({found.unused} of your ratings are of titles that this catalog does not have; "
            "--unmatched lists them)"
        )


def _quote_lines(quote: Quote) -> Iterator[str]:
    """What a fresh signal will cost; one that is sent again costs nothing, and needs no words."""
    if quote.fresh:
        cost = quote.cost
        yield f"this question costs {_in_three_units(cost)}"
        yield (
            f"spent before it: {float(cost.spent):.4g} of {float(cost.cap):g} for life, "
            f"{float(quote.spent_this_slot):.4g} of {float(quote.monthly_cap):g} in {quote.slot}"
        )


def _cost_lines(cost: Cost) -> Iterator[str]:
    spent = f"spent {float(cost.spent):.4g} of {float(cost.cap):g}"
    yield f"(this month's signal: {_in_three_units(cost)}; {spent})"
    if cost.epsilon != cost.wanted:
        yield "(it was drawn earlier; the settings asked for now count from next month on)"


def _in_three_units(cost: Cost) -> str:
    from askew_client.views.rounding import at_most

    rate = cost.epsilon_per_distance
    metric = "" if rate is None else f"epsilon {float(rate):.3g} per unit distance, "
    return (
        f"{metric}{at_most(cost.one_rating, 3)} for one rating, at most "
        f"{at_most(cost.between_any_two, 3)} between any two people"
    )


def _as_json(found: Answer) -> dict[str, object]:
    cost = found.cost
    return {
        "source": found.source,
        "simulated": found.simulated,
        "pick": found.pick.title.label,
        "results": [result.title.label for result in found.results],
        "used_ratings": found.used,
        "unused_ratings": found.unused,
        "fresh": found.departure.fresh,
        "cost": {
            "epsilon_per_distance": _optional(cost.epsilon_per_distance),
            "epsilon_per_rating": cost.one_rating,
            "epsilon_between_any_two": cost.between_any_two,
            "spent": float(cost.spent),
            "lifetime_cap": float(cost.cap),
        },
    }


def _optional(value: Fraction | None) -> float | None:
    return None if value is None else float(value)

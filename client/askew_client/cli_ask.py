"""`askew ask` and `askew catalog`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from askew.errors import ProfileError
from askew_client import cli_options as options

if TYPE_CHECKING:
    from fractions import Fraction

    from askew_client.config import Config
    from askew_client.outcomes import Answer, Cost, SharedAnswer
    from askew_client.profile_store import ProfileStore

_NOTHING_RATED = (
    "(nothing is rated yet: this is {origin}; no signal was drawn, charged or sent; "
    "`askew profile add` rates titles)"
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
) -> None:
    """Ask once, and rank the results in private.

    The stored profile is used (`askew profile`), or a file of ratings, which stays on this device.
    One noisy signal is drawn and charged each month; asking again sends the same one.

    \b
    Examples:
      askew ask
      askew ask -k 20 --json
      askew ask --ratings - < my-ratings.csv
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
    lines = None if ratings is None else _lines(ratings)
    # A passphrase is typed before there is an event loop, which would swallow Ctrl-C.
    profile = options.open_profile(config.data) if lines is None else None
    found = options.run(_asked(config, profile, lines or []))
    if as_json:
        options.print_json(_as_json(found))
        return
    for line in _as_lines(found):
        click.echo(line)


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
    config: Config, profile: ProfileStore | None, lines: list[str]
) -> Answer | SharedAnswer:
    """Ask for the stored profile, or for the ratings of these lines where there is none."""
    from askew_client.client import open_companion
    from askew_client.profile_store import PassingProfile
    from askew_client.setbacks import Setback

    opened = open_companion(
        config.settings,
        server=config.server,
        directory=config.data,
        profile=profile or PassingProfile(),
    )
    async with opened as companion:
        if profile is None:
            connected = await companion.connect()
            if isinstance(connected, Setback):
                raise connected.error
            companion.read_csv(lines)
        answer = await companion.ask()
    if isinstance(answer, Setback):
        raise answer.error
    return answer


async def _titles(config: Config) -> list[tuple[str, tuple[str, ...]]]:
    from askew_client.grpc_transport import GrpcTransport

    async with GrpcTransport(config.server, config.settings.timeout) as network:
        found = await network.catalog(await network.model_card())
    return [(item.label, item.genres) for item in found.items]


def _lines(ratings: TextIO) -> list[str]:
    try:
        return ratings.read().splitlines()
    except UnicodeDecodeError:
        raise ProfileError("the file of ratings is not text in UTF-8") from None


def _as_lines(found: Answer | SharedAnswer) -> Iterator[str]:
    """The ranking as text, the pick marked."""
    from askew_client.outcomes import SharedAnswer

    if isinstance(found, SharedAnswer):
        yield from (f"  {title.label}" for title in found.titles)
        yield f"({found.source})"
        yield _NOTHING_RATED.format(origin=found.origin)
        return
    for result in found.results:
        yield f"{'*' if result.picked else ' '} {result.title.label}"
    yield f"({found.source}; * is your pick, chosen on this device)"
    yield from _cost_lines(found.cost)
    if found.departure.fresh:
        yield "(a fresh signal was drawn and charged for this month)"
    if found.unused:
        yield f"({found.unused} of your ratings are of titles that this catalog does not have)"


def _cost_lines(cost: Cost) -> Iterator[str]:
    from askew_client.bounds import at_most

    near = f"epsilon {float(cost.epsilon):.3g} per unit distance, " if cost.metric else ""
    yield (
        f"(this month's signal: {near}{at_most(cost.one_rating, 3)} for one rating, at most "
        f"{at_most(cost.between_any_two, 3)} between any two people; "
        f"spent {float(cost.spent):.4g} of {float(cost.cap):g})"
    )
    if cost.epsilon != cost.wanted:
        yield "(it was drawn earlier; the settings asked for now count from next month on)"


def _as_json(found: Answer | SharedAnswer) -> dict[str, object]:
    from askew_client.outcomes import SharedAnswer

    said: dict[str, object] = {"source": found.source, "simulated": found.simulated}
    if isinstance(found, SharedAnswer):
        labels = [title.label for title in found.titles]
        return {"pick": None, "results": labels, "origin": found.origin, "cost": None} | said
    cost = found.cost
    return said | {
        "pick": found.pick.title.label,
        "results": [result.title.label for result in found.results],
        "fresh": found.departure.fresh,
        "cost": {
            "epsilon_per_distance": float(cost.epsilon) if cost.metric else None,
            "epsilon_per_rating": cost.one_rating,
            "epsilon_between_any_two": cost.between_any_two,
            "spent": float(cost.spent),
            "lifetime_cap": float(cost.cap),
        },
    }

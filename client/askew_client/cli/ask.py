"""`askew ask` and `askew catalog`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from askew.errors import ProfileError
from askew_client.cli import ask_output, options

if TYPE_CHECKING:
    from askew_client.profile.store import ProfileStore
    from askew_client.settings.sources import Config
    from askew_client.views.answers import Answer, Rated

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
    options.mode,
    options.consent,
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
    help="Write the ratings of titles that this device does not know to this file.",
)
@click.option(
    "--save-payload",
    "payload",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what the answer brought with the pick, such as an article, to this file.",
)
@click.pass_context
def ask(
    context: click.Context,
    /,
    ratings: TextIO | None,
    as_json: bool,
    second_space: bool,
    unmatched: Path | None,
    payload: Path | None,
    **flags: object,
) -> None:
    """Find what is best for you, ranked in private; a signal is sent only where that pays.

    A catalog that this device can hold is ranked here, whole. Else it goes by what the server says
    a signal is worth, and never by a dearer one than your settings say. --mode takes the other
    ways.

    The stored profile is used (`askew profile`), or a file of ratings, which stays on this device.
    One noisy signal is drawn and charged each month; asking again sends the same one. What it costs
    is said before it is sent, and a second feature space within one month is asked about first.
    A title that this device does not know stops nothing; --unmatched writes them to a file.

    \b
    Examples:
      askew ask
      askew ask --mode query -k 20 --json
      askew ask --ratings - --unmatched unknown.csv < my-ratings.csv
    """
    config = options.load(context, **flags)
    if flags["consent"] and config.settings.mode != "auto":
        raise click.UsageError("--consent takes what a server proposes, which needs --mode auto")
    options.note(f"asking {config.server} ...")
    # Before the first call, so that no error of a profile depends on a server; and a passphrase is
    # typed before there is an event loop, which would swallow Ctrl-C.
    profile = options.open_profile(config.data) if ratings is None else _passing(ratings)
    found, strangers = options.run(_asked(config, profile, second_space=second_space))
    if as_json:
        options.print_json(ask_output.as_json(found))
    else:
        for line in ask_output.as_lines(found):
            click.echo(line)
    if unmatched is not None:
        _write(strangers, unmatched)
    if payload is not None:
        _save(found, payload)


@click.command()
@options.all_of(options.server, options.as_json)
@click.pass_context
def catalog(context: click.Context, server: str | None, as_json: bool) -> None:
    """List the titles that this device holds: the whole catalog, or the starter items.

    What is held is the same for everybody, so that it says nothing of whom it is for.

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
    """Say what the question costs, and ask it; and what is not known here.

    The latter is looked for when the connection is closed: until then, a server could hear of it.
    """
    from askew_client.opening import open_companion
    from askew_client.views.problems import value_of

    opened = open_companion(
        config.settings, server=config.server, directory=config.data, profile=profile
    )
    async with opened as companion:
        quote = value_of(await companion.quote())
        for line in ask_output.quote_lines(quote):
            click.echo(line, err=True)
        if quote.second_space and not second_space and sys.stdin.isatty():
            click.confirm(_SECOND_SPACE, abort=True, err=True)
            second_space = True
        answer = value_of(await companion.ask(second_space=second_space, quoted=quote))
    return answer, companion.unmatched()


def _write(unmatched: tuple[Rated, ...], path: Path) -> None:
    """As a csv for the person alone, to be corrected and imported; an empty one says so too."""
    from askew_client.profile.export import as_csv
    from askew_client.storage.private_files import replace_file

    replace_file(path, as_csv(unmatched))


def _save(found: Answer, path: Path) -> None:
    """What came with the pick, for the person alone. It is here: no second question."""
    from askew_client.storage.private_files import replace_file

    if not found.pick.payload:
        raise click.ClickException("no answer brought anything with the pick; --mode query asks")
    replace_file(path, found.pick.payload)


async def _titles(config: Config) -> list[tuple[str, tuple[str, ...]]]:
    import datetime

    from askew_client.opening import open_library

    opened = open_library(config.settings, server=config.server, directory=config.data)
    async with opened as (_, library):
        held = await library.holding(datetime.date.today())
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

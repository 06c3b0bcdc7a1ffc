"""What the commands share: options that become a configuration, and how output is printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from askew.errors import ConfigError, UnclearTown
from askew_client.settings.config import (
    SETTINGS,
    Config,
    ConfigFile,
    config_file,
    configured,
    places,
    read_file,
)

if TYPE_CHECKING:
    from askew_client.profile.document import Spot
    from askew_client.profile.store import ProfileStore
    from askew_client.views.cost import Cost

_SECOND = (
    "This month has a fresh signal already, and another one tells more about you. Ask all the same?"
)
_POSITION = "Draw and charge this noisy position?"
_Command = TypeVar("_Command", bound=Callable[..., object])
_Outcome = TypeVar("_Outcome")


class DirectoryPath(click.Path):
    """A directory, which need not exist yet. Empty text is refused: it would mean "."."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """Return the Path that was typed, whether or not it exists. Raises click.BadParameter for
        empty text and for a file.
        """
        if value == "":
            self.fail("it must name a directory", param, ctx)
        return super().convert(value, param, ctx)


def _setting(name: str, **more: Any) -> Callable[[_Command], _Command]:
    [setting] = [setting for setting in SETTINGS.settings if setting.name == name]
    names, keywords = setting.option()
    return click.option(*names, **{**keywords, **more})


server = _setting("server")
k = _setting("k")
near_k = _setting("near_k")
region = _setting("region")
level = _setting("level")
epsilon_per_rating = _setting("epsilon_per_rating")
mode = _setting("mode")
data = _setting("data", type=DirectoryPath(), metavar="DIRECTORY")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def all_of(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    """Return one decorator that applies these options; the help lists them in this order."""

    def decorated(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


def load(context: click.Context, **flags: object) -> Config:
    """Return the configuration of this run: defaults < file < environment < flags; a flag that is
    None says nothing.

    Raises click.UsageError for what is wrong in any of them.
    """
    path = config_path(context)
    try:
        return configured(flags, os.environ, read_file(path), str(path))
    except ConfigError as error:
        raise click.UsageError(str(error), context) from None


def config_path(context: click.Context) -> Path:
    """Return the path of the configuration: the one named by `--config`, or the platform's own,
    whether or not it exists.
    """
    named: Path | None = context.obj
    return named or config_file()


def open_profile(directory: Path | None) -> ProfileStore:
    """Return the store of the profile in a directory, None for the platform's own; no file is made
    before something is kept.
    """
    from askew_client.profile.store import ProfileStore

    return ProfileStore(places(directory).profile)


def typed_place(region: str, town: str = "") -> Spot:
    """Return the place that a person typed: a town of the command line, or else what standard input
    or, in a terminal, a prompt says.

    A Position for a town or degrees, AxisValues for "axis = number". Towns that may be meant are
    listed on standard error; in a terminal the question is asked again, else UnclearTown is raised.
    Raises PlaceError for other text that is no place.
    """
    from askew_client.near.gazetteer import spot_of

    asks = sys.stdin.isatty()
    text = town or (_prompted() if asks else sys.stdin.read())
    while True:
        try:
            return spot_of(text, region)
        except UnclearTown as error:
            for choice in error.choices:
                tell(f"  {choice}")
            if not asks:
                raise
            # Other slips, as in degrees, end the command.
            tell(str(error))
        text = _prompted()


def _prompted() -> str:
    text: str = click.prompt("Town, or latitude, longitude (or axis = number)", err=True)
    return text


def region_first(context: click.Context, region: object, town: str = "") -> str | None:
    """Return the region of the option, or ask for one in a terminal where none is set; None where
    there is nothing to say.

    None also for an empty answer, and where the configuration has a region. The country of a town
    is proposed. It is asked for before a position, which would be typed in vain.
    """
    if region or not sys.stdin.isatty() or load(context).settings.region:
        return None if region is None else str(region)
    from askew_client.near.gazetteer import find_towns

    country = next((place.country for place in find_towns(town)), "")
    prompt = "Region: a country such as DE, or its edges in degrees, S/W/N/E"
    typed: str = click.prompt(prompt, default=country, show_default=bool(country), err=True)
    return typed.strip() or None


def agreed(cost: Cost) -> Cost | None:
    """Return the cost as what the person was shown and agreed to. A terminal asks about a fresh
    position, and about a second fresh signal of the month of titles or axes; a no raises
    click.Abort. Without a terminal a position's cost is returned, and None for such a second one.
    A cost that a cap refuses is returned, and nothing is asked.
    """
    of_place = cost.account == "places"
    if cost.refused:  # nothing to agree to: the ledger refuses it next
        return cost
    if not (cost.fresh if of_place else cost.is_second):
        return cost
    if sys.stdin.isatty():
        click.confirm(_POSITION if of_place else _SECOND, abort=True, err=True)
        return cost
    return cost if of_place else None


def keep_region(context: click.Context, region: str | None) -> None:
    """Write a region that was given with a place to the configuration, where that has none yet, and
    say so in a line on standard error, or there why it is not kept; do nothing for None.
    """
    path = config_path(context)
    if region is None or "region" in read_file(path):
        return
    try:
        ConfigFile(path).keep({"region": region})
    except ConfigError as error:  # the place is there all the same
        click.echo(f"the region is not kept: {error}", err=True)
        return
    click.echo(f"the region {region} is kept in {path}", err=True)


def run(coroutine: Coroutine[Any, Any, _Outcome]) -> _Outcome:
    """Return what the coroutine returns, run to its end. Raises click.Abort where it is
    cancelled.
    """
    import asyncio

    try:
        return asyncio.run(coroutine)
    except asyncio.CancelledError:
        raise click.Abort from None


def tell(text: str) -> None:
    """Print a line for the person on standard error, apart from what a program reads."""
    click.echo(text, err=True)


def note(text: str) -> None:
    """Print a line on standard error for a person who waits; print nothing if that is a pipe or a
    file.
    """
    if sys.stderr.isatty():
        tell(text)


def print_json(value: object) -> None:
    """Print one JSON value on a line of standard output: a view is an object with its fields, a
    Fraction a number, a date text.
    """
    import json

    click.echo(json.dumps(value, ensure_ascii=False, default=_plain))


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return float(value)
    return value.isoformat() if isinstance(value, date) else vars(value)

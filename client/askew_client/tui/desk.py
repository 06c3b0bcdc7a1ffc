"""The app without its screens: the device, what all screens show of it, and what must not block.

Work that may wait runs in workers, which show what came of it when it is there; screens watch the
state that they share. Screens know the app by `Desk` alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeVar

from textual import work
from textual.app import App
from textual.reactive import reactive

from askew.errors import AskewError, ConfigError, OtherKind
from askew_client.device.budget import Budget
from askew_client.storage.guard import in_thread
from askew_client.tui.ink import DARK, LIGHT
from askew_client.tui.pictures import short_number
from askew_client.views.answers import Bar, Connection, Rated
from askew_client.views.problems import Problem, Trouble, problem_of

if TYPE_CHECKING:
    from askew_client.opening import Device
    from askew_client.settings.config import ConfigFile
    from askew_client.settings.settings import ClientSettings


def use_settings(file: ConfigFile | None, device: Device, *, typed: Mapping[str, str]) -> str:
    """Use settings as they were typed, keep those that changed in the file, if any, and return
    "From now on: ε 0.8 a rating, k 20. A signal already drawn stays for its month.", by epsilon and
    k in force. Raises ParameterError for a value out of range, in which case nothing changed, or
    ConfigError, in which case they are used and not kept.
    """
    before, after = device.settings, _typed(device, typed)
    device.configure(after)
    # Only what changed is written: a flag or a variable of this run gets into the file by no other.
    changed = {name for name in typed if getattr(before, name) != getattr(after, name)}
    if file is not None and changed:
        file.keep({name: getattr(after, name) for name in sorted(changed)})
    return (
        f"From now on: ε {short_number(after.epsilon_per_rating)} a rating, k {after.k}. A signal "
        "already drawn stays for its month."
    )


def raised_cap(
    file: ConfigFile | None, device: Device, *, typed: Mapping[str, str]
) -> tuple[Fraction, Fraction] | tuple[()]:
    """Return (before, typed), two lifetime caps of ratings, if the typed one is higher; else (), as
    where none is typed, or the one in force. before: the lower of the one in force and the one in
    the file, so neither is raised in silence. Raises ParameterError for a typed setting that is
    out of range.
    """
    before = device.settings.rating_lifetime_cap
    after = _typed(device, typed).rating_lifetime_cap
    if after != before and file is not None:
        with suppress(ConfigError):  # nothing is kept in a file that cannot be read
            before = min(before, file.lifetime_cap())
    return (before, after) if after > before else ()


def _typed(device: Device, typed: Mapping[str, str]) -> ClientSettings:
    values: dict[str, Any] = dict(typed)
    return replace(device.settings, **values)


_Value = TypeVar("_Value")
Profile = tuple[tuple[Rated, ...], tuple[Bar, ...]]  # ratings, newest first, and bars
Opening = Callable[[], AbstractAsyncContextManager["Device"]]
OPENING: Final = AskewError("this device is still opening its files: wait a moment")


async def outcome_of(asked: Awaitable[_Value]) -> _Value | Problem:
    """Return what was asked for, or its AskewError as a Problem: the app catches all of them here,
    and other errors pass.
    """
    try:
        return await asked
    except AskewError as error:
        return problem_of(error)


class Desk(App[AskewError | OSError]):
    """What the app has without its screens."""

    device: reactive[Device | None] = reactive(None)
    connection: reactive[Connection | Problem | None] = reactive(None)
    profile: reactive[Profile] = reactive(((), ()))
    budget: reactive[Budget | Problem | None] = reactive(None)

    def __init__(
        self,
        opening: Opening,
        *,
        note: str = "",
        light: bool = False,
        file: ConfigFile | None = None,
        keys: Mapping[str, str] | None = None,
    ) -> None:
        """Make the app; no device is open yet. opening: called in a thread after the first screen
        stands, since its imports are heavy; what it returns is entered for as long as the app runs.
        file: what keeps settings that are changed here, or None. keys: a person's own, by the name
        of what they do.
        """
        super().__init__()
        self.keys = dict(keys or {})
        self._turn = asyncio.Lock()
        self.opening, self.file, self.note = opening, file, note
        for theme in (DARK, LIGHT):
            self.register_theme(theme)
        self.theme = LIGHT.name if light else DARK.name

    async def on_device(self, act: Callable[[Device], _Value]) -> _Value | Problem:
        """Return `act(device)`, run in a thread, one at a time and while nothing is asked. Return a
        Problem for an AskewError, or while no device is open; other errors pass.
        """
        device = self.device
        if device is None:
            return problem_of(OPENING)
        async with self._turn:
            return await outcome_of(in_thread(act, device))

    async def on_network(self, ask: Callable[[Device], Awaitable[_Value]]) -> _Value | Problem:
        """Return what `await ask(device)` returns; it and `on_device` wait for each other: a
        connection that found private work under way would not be opened, which the server could
        hear. Return a Problem for an AskewError, or while no device is open; other errors pass.
        """
        device = self.device
        if device is None:
            return problem_of(OPENING)
        async with self._turn:
            return await outcome_of(ask(device))

    @work(exclusive=True, group="connect")
    async def connect(self) -> None:
        """Connect, and set `connection` to what the server says of itself or to a Problem; a server
        without a catalog is asked for its places, and that is a Problem too. Then read profile and
        budget anew. Do nothing while no device is open.
        """
        if self.device is None:
            return
        outcome: Connection | Problem = await self.on_network(
            lambda device: device.titles.connect()
        )
        if isinstance(outcome, Problem) and isinstance(outcome.error, OtherKind):
            places = await self.on_network(lambda device: device.nearby.connect())
            if not isinstance(places, Problem):
                text, hint = "it has places, and no catalog of titles to rate", "Near (F2) asks it;"
                trouble = Trouble.STALE_SPACE
                outcome = replace(outcome, trouble=trouble, text=text, hint=hint)
        self.connection = outcome
        self.read_profile()
        self.read_budget()

    def learn_connection(self) -> None:
        """Set `connection` to one that a question opened, after a failure or to a new space, and
        read the profile anew; do nothing where there is none or it is the same.
        """
        connection = None if self.device is None else self.device.titles.connection
        if connection is not None and connection != self.connection:
            self.connection = connection
            self.read_profile()

    @work(exclusive=True, group="refresh")
    async def refresh_held(self) -> None:
        """Look for this week's file where its turn has come. What goes wrong is tried the next
        time; until then, what is held serves.
        """
        await self.on_network(lambda device: device.titles.refresh())

    @work(group="edits")
    async def edit(self, act: Callable[[Device], object], said: str = "") -> None:
        """Run `act` on the device, notify the person of what came of it, and read the profile anew.

        What `act` returns is said in place of `said` if it is text; nothing is said for "". A
        Problem is said by `refuse`. Edits happen in the order of the keys: the lock is fair.
        """
        outcome = await self.on_device(act)
        if isinstance(outcome, Problem):
            self.refuse(outcome)
        elif text := outcome if isinstance(outcome, str) else said:
            self.notify(text, markup=False, timeout=3)
        await self._bring_profile()

    @work(group="edits")
    async def read_profile(self) -> None:
        """Set `profile` to (ratings, bars) as the device has them now: ratings newest first, bars
        () without a connection. Where the device refuses, `profile` stays and a notification is
        shown.
        """
        await self._bring_profile()

    async def _bring_profile(self) -> None:
        def profile_of(device: Device) -> Profile:
            # No bars without a catalog.
            bars = () if device.titles.connection is None else device.titles.bars()
            return device.profile.ratings(), bars

        profile = await self.on_device(profile_of)
        if isinstance(profile, Problem):
            self.refuse(profile)
        else:
            self.profile = profile

    @work(exclusive=True, group="budget")
    async def read_budget(self) -> None:
        """Set `budget` to the Budget as it is now, or to a Problem, as while no device is open."""
        self.budget = await self.on_device(lambda device: device.budget())

    def refuse(self, problem: Problem) -> None:
        """Show a warning as a notification: a problem's text, a period and its hint, under its
        trouble in words, such as "the place cannot be used".
        """
        text = f"{problem.text}. {problem.hint}".strip()
        self.notify(text, title=problem.trouble.value, severity="warning", markup=False)

    def use_theme(self, *, dark: bool) -> None:
        """Use the dark or the light theme from now on, and keep that in the file of settings, if
        there is one.
        """
        self.theme = DARK.name if dark else LIGHT.name
        if (file := self.file) is not None:
            self.edit(lambda _: file.keep({"theme": "dark" if dark else "light"}))

"""The app without its screens: it opens the device, keeps what is shown, runs what must not block.

Workers bring messages; handlers set the app's state; screens watch the state and touch widgets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from textual import work
from textual.reactive import reactive

from askew.errors import AskewError, OtherKind
from askew_client.tui import sentences
from askew_client.tui.crash import DiscreetApp
from askew_client.tui.messages import (
    BudgetRead,
    Connected,
    Done,
    Opened,
    ProfileRead,
    ProfileView,
    Refused,
)
from askew_client.tui.screens.unlock import UnlockScreen
from askew_client.tui.terminal import check_terminal
from askew_client.views.answers import Connection
from askew_client.views.problems import Setback, setback_of
from askew_client.views.quote import Budget

if TYPE_CHECKING:
    from askew_client.device.device import Companion

REFRESH_EVERY = 15 * 60.0  # seconds between two looks at the calendar, which is no call
_Value = TypeVar("_Value")
Opening = Callable[[], AbstractAsyncContextManager["Companion"]]


class DeviceApp(DiscreetApp[AskewError | OSError]):
    """A person's device, held open."""

    companion: reactive[Companion | None] = reactive(None)
    connection: reactive[Connection | Setback | None] = reactive(None)
    profile: reactive[ProfileView] = reactive(ProfileView())
    budget: reactive[Budget | Setback | None] = reactive(None)

    def __init__(self, opening: Opening) -> None:
        """`opening` is called in a thread after the first screen stands, since its imports are
        heavy; what it returns is entered for as long as the app runs.
        """
        super().__init__()
        self._opening, self._turn = opening, asyncio.Lock()

    def run(self, *args: Any, **options: Any) -> AskewError | OSError | None:
        """Run until the person leaves. Raises AskewError where there is no terminal."""
        check_terminal()
        return super().run(*args, **options)

    # Workers

    @work(group="live")
    async def live(self) -> None:
        """Keep the device open until the app ends."""
        try:
            opened = await asyncio.to_thread(self._opening)
            async with opened as companion:
                locked = await asyncio.to_thread(lambda: companion.locked)
                self.post_message(Opened(companion, locked))
                await asyncio.Event().wait()
        except (AskewError, OSError) as error:  # without its files there is nothing to show
            self.exit(error)

    @work(exclusive=True, group="connect")
    async def connect(self) -> None:
        """Ask the server who it is; one whose card is no catalog's is asked for its places."""
        companion = self.companion
        if companion is None:
            return
        outcome = await companion.connect()
        if isinstance(outcome, Setback) and isinstance(outcome.error, OtherKind):
            places = await companion.nearby.connect()
            outcome = outcome if isinstance(places, Setback) else sentences.places_only(outcome)
        self.post_message(Connected(outcome))

    @work(exclusive=True, group="refresh")
    async def refresh_held(self) -> None:
        """Look for what is held where its turn has come. What goes wrong is tried the next time;
        until then, what is held serves.
        """
        if self.companion is not None:
            await self.companion.refresh()

    @work(group="edits")
    async def edit(self, act: Callable[[Companion], object], said: str = "") -> None:
        """Change something on the device, say so, and bring the profile as it is then.

        What `act` returns is said in place of `said` if it is text. Edits happen in the order of
        the keys: the lock is fair.
        """
        outcome = await self.on_device(act)
        if isinstance(outcome, Setback):
            self.post_message(Refused(outcome))
        elif text := outcome if isinstance(outcome, str) else said:
            self.post_message(Done(text))
        await self._bring_profile()

    @work(group="edits")
    async def read_profile(self) -> None:
        """Bring the profile as it is."""
        await self._bring_profile()

    @work(exclusive=True, group="budget")
    async def read_budget(self) -> None:
        """Bring the ledger."""
        self.post_message(BudgetRead(await self.on_device(lambda device: device.budget())))

    async def on_device(self, act: Callable[[Companion], _Value]) -> _Value | Setback:
        """Run one thing on the device in a thread, one at a time and while no connection is open;
        until then the screens show what is there. An error is a Setback.
        """
        device = self.companion
        if device is None:
            return setback_of(AskewError("the device is still opening its files"))
        async with self._turn:
            await device.quiet()
            try:
                return await asyncio.to_thread(act, device)
            except AskewError as error:
                return setback_of(error)

    async def _bring_profile(self) -> None:
        view = await self.on_device(ProfileView.of)
        self.post_message(Refused(view) if isinstance(view, Setback) else ProfileRead(view))

    # Messages

    def on_opened(self, message: Opened) -> None:
        """The device is open: unlock it if it must be, read it, connect."""
        self.companion = message.companion
        self.connect()
        self.set_interval(REFRESH_EVERY, self.refresh_held)
        self.read_budget()
        if message.locked:
            self.push_screen(UnlockScreen())
        else:
            self.read_profile()

    def on_connected(self, message: Connected) -> None:
        """The catalog is there, or it is not; the bars depend on it."""
        self.connection = message.outcome
        self.read_profile()
        self.read_budget()

    def learn_connection(self) -> None:
        """A question connects by itself if it must: after a failure, or to a new space."""
        found = None if self.companion is None else self.companion.connection
        if found is not None and found != self.connection:
            self.connection = found
            self.read_profile()

    def on_profile_read(self, message: ProfileRead) -> None:
        """Keep the profile where the screens watch it."""
        self.profile = message.view

    def on_budget_read(self, message: BudgetRead) -> None:
        """Keep the ledger where the screens watch it."""
        self.budget = message.outcome

    def on_refused(self, message: Refused) -> None:
        """Say why, calmly."""
        text = f"{message.setback.text}. {message.setback.hint}"
        self.notify(text, title=message.setback.trouble.value, severity="warning", markup=False)

    def on_done(self, message: Done) -> None:
        """Say what was done."""
        self.notify(message.text, markup=False, timeout=3)

"""What a screen may ask of the app: the app gives it, and screens know no more of it than this."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from askew_client.tui.messages import ProfileView
from askew_client.views.answers import Connection
from askew_client.views.problems import Setback
from askew_client.views.quote import Budget

if TYPE_CHECKING:
    from askew_client.device.device import Companion
    from askew_client.settings.file import ConfigFile

_Value = TypeVar("_Value")


class Desk(Protocol):
    """The app as its screens see it: what all of them show, and what must not block."""

    note: str
    own_keys: Mapping[str, str]
    file: ConfigFile | None

    @property
    def companion(self) -> Companion | None:
        """The open device, or None while it opens."""

    @property
    def connection(self) -> Connection | Setback | None:
        """What the server said of itself, or why it could not."""

    @property
    def profile(self) -> ProfileView:
        """The profile as it was read last."""

    @property
    def budget(self) -> Budget | Setback | None:
        """The ledger as it was read last."""

    def connect(self) -> object:
        """Ask the server who it is."""

    def edit(self, act: Callable[[Companion], object], said: str = "") -> object:
        """Change something on the device, and say so."""

    def read_profile(self) -> object:
        """Bring the profile as it is."""

    def read_budget(self) -> object:
        """Bring the ledger."""

    def on_device(self, act: Callable[[Companion], _Value]) -> Awaitable[_Value | Setback]:
        """Run one thing on the device in a thread; an error is a Setback."""

    def learn_connection(self) -> None:
        """Look at the connection anew, which a question may have made."""

    def use_theme(self, *, dark: bool) -> None:
        """One of the two themes, from now on."""

    def action_go(self, mode: str) -> None:
        """Show another screen."""

    def action_flip_theme(self) -> None:
        """Light becomes dark, and dark becomes light."""

    async def action_quit(self) -> None:
        """Leave."""

"""What screens may ask of the app, and what workers bring by message.

Some of it is private, so no message shows its content. Screens know the app by `Desk` alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from textual.message import Message

from askew.errors import AskewError
from askew_client.device.budget import Budget
from askew_client.views.answers import (
    Answer,
    Bar,
    Connection,
    Match,
    NoisePicture,
    PastAnswer,
    Rated,
    SignalPreview,
)
from askew_client.views.problems import Problem, problem_of
from askew_client.views.quote import Quote

if TYPE_CHECKING:
    from askew_client.device.device import Device
    from askew_client.settings.config import ConfigFile


_Value = TypeVar("_Value")


async def outcome_of(asked: Awaitable[_Value]) -> _Value | Problem:
    """What was asked for, or its error with words: where the app catches what the device raises."""
    try:
        return await asked
    except AskewError as error:
        return problem_of(error)


@dataclass(frozen=True, repr=False)
class ProfileView:
    """The profile as the screens show it. lock says how it is kept, None if it is not open."""

    ratings: tuple[Rated, ...] = ()
    bars: tuple[Bar, ...] = ()
    lock: str | None = "none"

    @classmethod
    def of(cls, device: Device) -> ProfileView:
        """What can be shown: nothing of a locked profile, and no bars without a catalog."""
        if device.profile.locked:
            return cls(lock=None)
        bars = () if device.titles.connection is None else device.titles.bars()
        return cls(device.profile.ratings(), bars, device.profile.lock)


@dataclass(repr=False)
class Opened(Message):
    """The device's files are open; a profile that is locked needs its passphrase."""

    device: Device
    locked: bool


@dataclass(repr=False)
class Unlocked(Message):
    """A passphrase was tried; problem says why it does not fit."""

    problem: Problem | None


@dataclass(repr=False)
class Connected(Message):
    """The server said who it is, or it could not."""

    outcome: Connection | Problem


@dataclass(repr=False)
class ProfileRead(Message):
    """The profile after an edit, or at the start."""

    view: ProfileView


@dataclass(repr=False)
class BudgetRead(Message):
    """The ledger, or why it cannot be read."""

    outcome: Budget | Problem


@dataclass(repr=False)
class EditRefused(Message):
    """Something on the device was refused, such as an edit of the profile."""

    problem: Problem


@dataclass(repr=False)
class Done(Message):
    """Something on the device was done; text says what, without a private value."""

    text: str


@dataclass(repr=False)
class Found(Message):
    """What a search found."""

    matches: Sequence[Match]


@dataclass(repr=False)
class Quoted(Message):
    """What a question would cost now. The same for every profile."""

    quote: Quote


@dataclass(repr=False)
class Answered(Message):
    """What became of a question, and the picture of its noise where there was one. None: the
    person did not want it at this price.
    """

    outcome: Answer | Problem | None
    noise: NoisePicture | None = None


@dataclass(repr=False)
class Previewed(Message):
    """What a signal of other settings would tell and give."""

    outcome: SignalPreview | Problem


@dataclass(repr=False)
class HistoryRead(Message):
    """Past answers, newest first, or why they cannot be read."""

    outcome: tuple[PastAnswer, ...] | Problem


class Desk(Protocol):
    """The app as its screens see it: what all of them show, and what must not block."""

    note: str
    own_keys: Mapping[str, str]
    file: ConfigFile | None

    @property
    def device(self) -> Device | None:
        """The open device, or None while it opens."""

    @property
    def connection(self) -> Connection | Problem | None:
        """What the server said of itself, or why it could not."""

    @property
    def profile(self) -> ProfileView:
        """The profile as it was read last."""

    @property
    def budget(self) -> Budget | Problem | None:
        """The ledger as it was read last."""

    def edit(self, act: Callable[[Device], object], said: str = "") -> object:
        """Change something on the device, and say so."""

    def read_profile(self) -> object:
        """Bring the profile as it is."""

    def read_budget(self) -> object:
        """Bring the ledger."""

    def on_device(self, act: Callable[[Device], _Value]) -> Awaitable[_Value | Problem]:
        """Run one thing on the device in a thread; an error is a Problem."""

    def learn_connection(self) -> None:
        """Look at the connection anew, which a question may have made."""

    def use_theme(self, *, dark: bool) -> None:
        """One of the two themes, from now on."""

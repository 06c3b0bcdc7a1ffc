"""What workers bring to the screens. Some of it is private, so no message shows its content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

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
from askew_client.views.problems import Setback
from askew_client.views.quote import Budget, Quote

if TYPE_CHECKING:
    from askew_client.device.device import Companion


@dataclass(frozen=True, repr=False)
class ProfileView:
    """The profile as the screens show it. lock says how it is kept, None if it is not open."""

    ratings: tuple[Rated, ...] = ()
    bars: tuple[Bar, ...] = ()
    lock: str | None = "none"

    @classmethod
    def of(cls, device: Companion) -> ProfileView:
        """What can be shown: nothing of a locked profile, and no bars without a catalog."""
        if device.locked:
            return cls(lock=None)
        bars = () if device.connection is None else device.bars()
        return cls(device.ratings(), bars, device.lock)


@dataclass(repr=False)
class Opened(Message):
    """The device's files are open; a profile that is locked needs its passphrase."""

    companion: Companion
    locked: bool


@dataclass(repr=False)
class Unlocked(Message):
    """A passphrase was tried; setback says why it does not fit."""

    setback: Setback | None


@dataclass(repr=False)
class Connected(Message):
    """The server said who it is, or it could not."""

    outcome: Connection | Setback


@dataclass(repr=False)
class ProfileRead(Message):
    """The profile after an edit, or at the start."""

    view: ProfileView


@dataclass(repr=False)
class BudgetRead(Message):
    """The ledger, or why it cannot be read."""

    outcome: Budget | Setback


@dataclass(repr=False)
class Refused(Message):
    """Something on the device was refused, such as an edit of the profile."""

    setback: Setback


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

    outcome: Answer | Setback | None
    noise: NoisePicture | None = None


@dataclass(repr=False)
class Previewed(Message):
    """What a signal of other settings would tell and give."""

    outcome: SignalPreview | Setback


@dataclass(repr=False)
class HistoryRead(Message):
    """Past answers, newest first, or why they cannot be read."""

    outcome: tuple[PastAnswer, ...] | Setback

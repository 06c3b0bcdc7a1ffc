"""What workers bring to the screen Near. Most of it is private, so no message shows its content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from askew_client.tui.near_desk import Outlook, PlacePrices, Ranked
from askew_client.views.problems import Setback
from askew_client.views.quote import PlaceView

if TYPE_CHECKING:
    from askew.protocol.metric_card import CollectionCard


@dataclass(repr=False)
class PlacesRead(Message):
    """The named places of a map, or why they cannot be read."""

    outcome: tuple[PlaceView, ...] | Setback


@dataclass(repr=False)
class Met(Message):
    """The collections of the server, or why there are none."""

    outcome: tuple[CollectionCard, ...] | Setback


@dataclass(repr=False)
class Looked(Message):
    """What can be known before a question."""

    outcome: Outlook | Setback


@dataclass(repr=False)
class Ordered(Message):
    """An answer in the person's order, or why there is none. again: it was here before, and
    nothing was sent.
    """

    outcome: Ranked | Setback
    again: bool = False


@dataclass(repr=False)
class Priced(Message):
    """What drawing a position would cost. moves: it is for a place that there is."""

    outcome: PlacePrices | Setback
    moves: bool


@dataclass(repr=False)
class Kept(Message):
    """A place was drawn and kept, moved or forgotten; text says which, without a private value.
    name: of the place to look at from now on, or "".
    """

    outcome: str | Setback
    name: str = ""

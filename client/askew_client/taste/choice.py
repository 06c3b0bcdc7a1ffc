"""Which mode a device takes: a function of its settings, a server's card and what it holds.

All three are public, so the mode says nothing of the person, and neither does whether a call is
made. What is held whole is ranked here, for nothing. Else a signal is sent if the card says that
one was worth it to people whom the model did not see, and none if not. What a signal costs, and how
many results it asks for, the settings say alone: a card can make that none is sent, and nothing
else. A setting of the person's own comes before all of that.

A signal of this month that is stored already is sent as it was drawn, whatever is set now: the
ledger remembers its noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from askew.errors import ParameterError
from askew.noise.lattice import LatticeLaplace
from askew.protocol.model_card import ModelCard
from askew.protocol.modes import ServingMode
from askew_client.settings.settings import ClientSettings
from askew_client.views.quote import ModeView


class Reason(Enum):
    """Why a mode is taken."""

    CHOSEN = "the person's setting"
    HELD = "every item is held"
    WORTH_IT = "the card says that a signal is worth it"
    NOT_WORTH_IT = "the card does not say that a signal is worth it"


_NOTHING = "nothing is drawn, charged or sent"
_REASONS = {
    Reason.CHOSEN: "as you chose",
    Reason.HELD: "they fit your byte budget",
    Reason.WORTH_IT: "this server says that it was worth it to people whom it held out",
    Reason.NOT_WORTH_IT: "this server does not say that a signal is worth it; mode query asks",
}


@dataclass(frozen=True)
class CachedItems:
    """What this device holds of a catalog, by its own count: items, and the bytes they take."""

    n_items: int
    size: int

    def is_whole(self, card: ModelCard, byte_budget: int) -> bool:
        """Whether it is every item, in no more bytes than the person gives."""
        return self.n_items == card.n_items and self.size <= byte_budget


@dataclass(frozen=True)
class Taken:
    """The mode in force, and why. held: what is ranked here."""

    mode: ServingMode
    reason: Reason
    settings: ClientSettings
    held: CachedItems

    @property
    def asks(self) -> bool:
        """Whether a signal is sent."""
        return self.mode is ServingMode.QUERY


def choose(settings: ClientSettings, card: ModelCard, held: CachedItems) -> Taken:
    """Return the mode that this device takes at a server with this card.

    Raises ParameterError for `mode` local where not every item is held within `byte_budget`.
    """
    whole = held.is_whole(card, settings.byte_budget)
    if settings.mode == "auto":
        if whole:
            return Taken(ServingMode.LOCAL, Reason.HELD, settings, held)
        if card.worth_asking:
            return Taken(ServingMode.QUERY, Reason.WORTH_IT, settings, held)
        return Taken(ServingMode.CACHED, Reason.NOT_WORTH_IT, settings, held)
    if settings.mode == "local" and not whole:
        limit = (
            f"another one: not every item is held within the byte budget, {settings.byte_budget}"
        )
        raise ParameterError("mode", settings.mode, limit)
    return Taken(ServingMode(settings.mode), Reason.CHOSEN, settings, held)


def noise_for(card: ModelCard, settings: ClientSettings) -> LatticeLaplace:
    """Return the noise by which these settings ask this server.

    The rate is the person's setting, whatever the card says: by a server's numbers it would mark
    the device. Raises ParameterError when the server cannot answer them, or where the noise would
    tell more than they say: one rating moves a point by more than 1, or the space is too wide.
    """
    if settings.k > card.max_slate_size:
        limit = f"at most what this server answers, {card.max_slate_size}"
        raise ParameterError("k", settings.k, limit)
    encoder = card.space.encoder
    if encoder.one_rating > 1:
        name = "how far one rating moves a point"
        raise ParameterError(name, float(encoder.one_rating), "at most 1, so that it is one rating")
    if encoder.diameter > settings.max_ratings_apart:
        limit = f"at most this device's limit, {settings.max_ratings_apart:g} ratings"
        raise ParameterError("the feature space's diameter", float(encoder.diameter), limit)
    return LatticeLaplace.for_epsilon(settings.epsilon_per_rating)


def in_words(taken: Taken, card: ModelCard) -> ModeView:
    """Say what is done, and why."""
    whole = taken.held.is_whole(card, taken.settings.byte_budget)
    notes: tuple[str, ...] = ()
    if taken.reason is Reason.CHOSEN and taken.mode is not ServingMode.LOCAL and whole:
        notes = ("This device holds every item: by itself it would rank them all, for nothing.",)
    return ModeView(str(taken.mode), f"{_what(taken)}; {_REASONS[taken.reason]}", notes)


def _what(taken: Taken) -> str:
    if taken.mode is ServingMode.LOCAL:
        return f"all {_holding(taken.held)} are held and ranked here; {_NOTHING}"
    if taken.mode is ServingMode.CACHED:
        return f"the {_holding(taken.held)} held here are ranked; {_NOTHING}"
    return (
        f"one signal at epsilon {float(taken.settings.epsilon_per_rating):g} a rating, "
        f"k {taken.settings.k}"
    )


def _holding(held: CachedItems) -> str:
    return f"{held.n_items:,} items ({_bytes(held.size)})"


def _bytes(size: int) -> str:
    """A size to be read: "31 kB"."""
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"

"""The mode that is taken, in words: what is done, and why. For a person's eyes."""

from __future__ import annotations

from askew.protocol.model_card import ModelCard
from askew.protocol.modes import ServingMode
from askew_client.taste.choice import CachedItems, Reason, Taken
from askew_client.views.quote import ModeView

_NOTHING = "nothing is drawn, charged or sent"
_REASONS = {
    Reason.CHOSEN: "as you chose",
    Reason.HELD: "they fit your byte budget",
    Reason.WORTH_IT: "this server says that it was worth it to people whom it held out",
    Reason.NOT_WORTH_IT: "this server does not say that a signal is worth it; mode query asks",
}


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
    return f"one signal at epsilon {taken.settings.epsilon}, k {taken.settings.k}"


def _holding(held: CachedItems) -> str:
    return f"{held.n_items:,} items ({_bytes(held.size)})"


def _bytes(size: int) -> str:
    """A size to be read: "31 kB"."""
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"

"""What the screen of privacy says in words: the noise, the ledger, a preview."""

from __future__ import annotations

from typing import Final

from rich.text import Text

from askew_client.tui.sentences import of_the_axes
from askew_client.views.answers import Connection, NoisePicture, SignalPreview
from askew_client.views.problems import Setback
from askew_client.views.quote import Budget, at_most

NO_FIGURES: Final = "This server has no figures for these settings."


def noise_caption(noise: NoisePicture, connection: Connection) -> str:
    """What the map of the noise shows."""
    if not noise.offsets:
        return "the noise on each direction; this server's rule has no offsets"
    return f"noise, and ◆ where the server looks{of_the_axes(connection)}"


def ledger(budget: Budget) -> Text:
    """The ledger, newest line first, then what it means."""
    text = Text()
    if budget.frozen is not None:
        text.append("❄ Spending is frozen. ", "bold")
        text.append(f"{budget.frozen} Look at the lines below; Settings (F6) can accept them.\n\n")
    if budget.mode is not None:
        text.append(f"{budget.mode.name}: ", "bold")
        text.append(f"{budget.mode.reason}.\n\n")
    for line in reversed(budget.lines):
        text.append(f"{line.slot}  ", "bold")
        space = f" (space {line.space_version[:8]})" if line.space_version else ""
        text.append(f"{line.words}{space}\n\n")
    if not budget.lines and budget.frozen is None:
        text.append("No signal has ever left this device.\n\n", "bold")
    for words in budget.words:
        text.append(f"{words}\n")
    text.append(f"The next slot begins on {budget.next_slot:%-d %B %Y}.", "italic")
    return text


def preview(found: SignalPreview) -> str:
    """The worst that one such signal may tell, and what the server says that it gives."""
    told = (
        f"at most ε {at_most(found.between_any_two)} between any two people, "
        f"{at_most(found.one_rating)} for one rating"
    )
    gives = f"This server's figures: {found.figures}" if found.figures else NO_FIGURES
    return f"{told}\n{gives}"


def no_preview(setback: Setback) -> str:
    """Why these settings cannot be used here."""
    return f"No signal: {setback.text}. {setback.hint}"

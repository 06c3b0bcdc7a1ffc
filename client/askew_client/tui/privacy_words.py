"""What the screen of privacy says in words: the noise, the ledger, a forecast."""

from __future__ import annotations

from typing import Final

from rich.text import Text

from askew_client.tui.sentences import of_the_axes
from askew_client.views.answers import Connection, Forecast, NoisePicture
from askew_client.views.problems import Setback
from askew_client.views.quote import Budget, at_most

ESTIMATED: Final = "an estimate: made-up people stand in for the server's prior"


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
    if budget.way is not None:
        text.append(f"{budget.way.name}: ", "bold")
        text.append(f"{budget.way.reason}.\n\n")
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


def bound(forecast: Forecast) -> str:
    """The worst that one such signal may tell."""
    said = f"at most ε {at_most(forecast.between_any_two)} between any two people"
    return f"{said}\n{ESTIMATED}" if forecast.estimated else said


def no_forecast(setback: Setback) -> str:
    """Why there is no forecast."""
    return f"No forecast: {setback.text}. {setback.hint}"

"""What the app says in words. Titles in it are rich Text: never markup."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from rich.text import Text
from textual.content import Content

from askew_client.views.budget import Budget
from askew_client.views.problems import Setback, Trouble
from askew_client.views.rounding import at_most
from askew_client.views.values import (
    Answer,
    Connection,
    Cost,
    Departure,
    Forecast,
    NoisePicture,
    Quote,
)
from askew_client.views.ways import TakenWay

if TYPE_CHECKING:
    from askew_client.profile.editor import Forgotten

BEFORE_ASKING: Final = "or press a: one question, one answer"
WHAT_LEAVES: Final = (
    "Nothing has left yet. When you ask, your profile is bent by noise on this device, and only "
    "the bent copy is sent: a few integers, the same size for everybody."
)
NOTHING_LEAVES: Final = "Nothing leaves this device when you ask."
ESTIMATED: Final = "an estimate: made-up people stand in for the server's prior"
NOTHING_RATED: Final = "You have rated nothing of this catalog: this is what anybody would get."
SECOND_SPACE: Final = (
    "This month has a signal for another feature space already. A server can make a new space "
    "whenever it likes, and a second signal tells more about you. Ask all the same?"
)
REMOVED: Final = "Removed; u brings it back, for undo keeps it. X forgets it for good."
NONE_KNOWN: Final = "Nothing that you rated is in this catalog."
RATE_A_FEW: Final = "Rate a few titles that you know. Ratings stay on this device."
RATE_LATER: Final = "Rate a few titles once the catalog is here. Ratings stay on this device."
FROZEN: Final = (
    "Spending is frozen: the ledger lost something, or the clock jumped. Privacy (F4) shows its "
    "lines. Accepting it books what may have been lost, and spending goes on."
)


def places_only(setback: Setback) -> Setback:
    """What to say of a server that has places where a catalog was asked for."""
    text = "it has places, and no catalog of titles to rate"
    return replace(setback, trouble=Trouble.STALE_SPACE, text=text, hint="Near (F7) asks it;")


def noise_caption(noise: NoisePicture, connection: Connection) -> str:
    """What the map of the noise shows."""
    if not noise.offsets:
        return "the noise on each direction; this server's rule has no offsets"
    return f"noise, and ◆ where the server looks{_of_the_axes(connection)}"


def glow_caption(connection: Connection) -> str:
    """What the map around a signal shows."""
    return f"the brighter the glow of ◆, the likelier you ● are there{_of_the_axes(connection)}"


def _of_the_axes(connection: Connection) -> str:
    """Which directions a map shows, where there are more; the numbers are those of the bars."""
    if connection.dimension == len(connection.map_axes):
        return ""
    shown = " and ".join(str(axis + 1) for axis in connection.map_axes)
    return f"; directions {shown} of {connection.dimension}, where this catalog differs most"


def flow(k: int) -> Content:
    """A question and its answer, before there is one: warm stays, cool leaves."""
    warm, bend, cool = "$primary", "bold $accent", "$secondary"
    return Content.assemble(
        ("● you\n│\n", warm),
        ("╰─╮", bend),
        ("  noise, drawn on this device\n", "$soft"),
        ("  ╲\n", bend),
        ("   ◆ the signal ─────────╮\n", cool),
        ("                      server\n", cool),
        (f"   ◇ {k:>2} results ◀───────╯\n", cool),
        ("  ╱\n", bend),
        ("● your pick", warm),
        ("  made here, never sent", "$soft"),
    )


def flow_here(k: int) -> Content:
    """The same where nothing is sent."""
    warm = "$primary"
    return Content.assemble(
        ("● you\n│\n│", warm),
        ("  items that everybody holds alike\n", "$soft"),
        (f"│  the best {k} of them\n│\n", warm),
        ("● your pick", warm),
        ("  made here, nothing sent", "$soft"),
    )


def way(taken: TakenWay) -> Text:
    """How a question is answered, why, and what the server proposes instead."""
    text = Text()
    text.append(f"{taken.name}: ", "bold")
    text.append(f"{taken.reason}.")
    for note in taken.notes:
        text.append(f"\n{note}", "italic")
    return text


def number(value: Fraction | float) -> str:
    """A number as short as it is exact enough to read."""
    return f"{float(value):.4g}"


def quote(price: Quote) -> Text:
    """What a question would cost, before it is asked."""
    text, cost = Text(), price.cost
    if cost is None:
        return text
    if not price.fresh:
        text.append(f"\nAsking sends the signal of {price.slot} again, for nothing.")
        return text
    text.append(f"\nAsking draws the signal of {price.slot} and costs\n")
    _append_loss(text, cost)
    text.append(
        f"Spent before it: {number(cost.spent)} of {number(cost.cap)}, this month "
        f"{number(price.spent_this_slot)} of {number(price.monthly_cap)}."
    )
    if price.second_space:
        text.append(" It is this month's second space: you are asked first.", "bold")
    return text


def outcome(answer: Answer) -> Text:
    """What left, and what it cost."""
    if answer.departure is None or answer.cost is None:
        return Text.assemble(("Nothing has left.\n", "bold"), way(answer.way))
    return departure(answer.departure, answer.cost)


def departure(left: Departure, cost: Cost) -> Text:
    """A signal that left, and what it cost."""
    text = Text()
    text.append(f"\n{_integers(left.values)}", "bold")
    text.append(" left, and k. No name, no rating, no clock.\n")
    text.append("Drawn just now" if left.fresh else "Sent again, free:", "bold")
    text.append(f" for {left.slot}.\n" if left.fresh else f" it is the signal of {left.slot}.\n")
    _append_loss(text, cost)
    text.append(f"Spent {number(cost.spent)} of {number(cost.cap)}.", "bold")
    if cost.wanted != cost.epsilon:
        text.append(f" Your ε of {number(cost.wanted)} counts from the next month on.")
    return text


def _append_loss(text: Text, cost: Cost) -> None:
    """A loss in its three units."""
    unit = "between any two people" if cost.epsilon_per_distance is None else "per unit of distance"
    text.append(f"ε {number(cost.epsilon)} {unit}, at most ")
    text.append(f"{at_most(cost.one_rating)} for one rating and ")
    text.append(f"{at_most(cost.between_any_two)} between any two people.\n")


def pick(answer: Answer) -> Text:
    """The pick and why."""
    best = answer.pick
    text = Text()
    if not answer.used:
        text.append(f"{NOTHING_RATED}\n", "italic")
    text.append("Your pick, never sent\n", "italic")
    text.append(f"{best.title.label}\n", "bold")
    text.append(best.why)
    return text


def _integers(values: tuple[int, ...]) -> str:
    shown = ", ".join(str(value) for value in values[:8])
    return f"({shown}{', ...' if len(values) > 8 else ''})"


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


def settings_in_force(epsilon: Fraction, k: int) -> str:
    """What the person chose."""
    return f"From now on: ε {number(epsilon)}, k {k}. A signal already drawn stays for its month."


def raise_cap(old: Fraction, new: Fraction, *, kept: bool) -> str:
    """What a raised cap means, as a question."""
    return (
        f"Raise the lifetime cap from {number(old)} to {number(new)}"
        f"{', for good' if kept else ''}? All signals together could then tell more about you, "
        "and what has left cannot be called back."
    )


def forget_title(label: str) -> str:
    """What forgetting one title means, as a question."""
    return (
        f"Forget {label} for good? No undo brings its rating back, and past answers that name it "
        "are forgotten too."
    )


def forgotten(gone: Forgotten) -> str:
    """What was forgotten, without a title."""
    if not gone.titles and not gone.answers:
        return "Nothing of it was kept here."
    answers = f"{gone.answers} past answer{'s' * (gone.answers != 1)}"
    return f"Forgotten for good, and {answers} with it."


def at_rest(lock: str | None) -> str:
    """How the profile is kept."""
    if lock is None:
        return "Encrypted, and locked."
    return {
        "passphrase": "Encrypted with your passphrase.",
        "keyring": "Encrypted with a key in the system's keyring.",
    }.get(lock, "Kept in the clear, in a file that only you can read.")

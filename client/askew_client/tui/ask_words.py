"""What the screen Ask says in words. Titles in it are rich Text: never markup."""

from __future__ import annotations

from typing import Final

from rich.text import Text
from textual.content import Content

from askew_client.tui.sentences import number, of_the_axes
from askew_client.views.answers import Answer, Connection, Cost, Departure, ModeView
from askew_client.views.quote import Quote, at_most

PURPOSE: Final = (
    "One key asks. What this device holds whole is ranked here, and nothing leaves; nor does "
    "it where a signal is not worth its price. Else your profile is bent by noise, and only "
    "the bent copy leaves: the signal. The server answers with results for it; this device "
    "ranks them (◇) by your true profile, beside what it holds, and picks. Neither the ranking "
    "nor the pick is ever sent. The signal is drawn and paid for once a month; asking again "
    "in the same month sends the same one, at no further cost."
)
BEFORE_ASKING: Final = "or press a: one question, one answer"
WHAT_LEAVES: Final = (
    "Nothing has left yet. When you ask, your profile is bent by noise on this device, and only "
    "the bent copy is sent: a few integers, the same size for everybody."
)
NOTHING_LEAVES: Final = "Nothing leaves this device when you ask."
NOTHING_RATED: Final = "You have rated nothing of this catalog: this is what anybody would get."
CHANGED: Final = "This is not what was shown before, so nothing was drawn, charged or sent."
SECOND_SPACE: Final = (
    "This month has a signal for another feature space already. A server can make a new space "
    "whenever it likes, and a second signal tells more about you. Ask all the same?"
)


def glow_caption(connection: Connection) -> str:
    """What the map around a signal shows."""
    return f"the brighter the glow of ◆, the likelier you ● are there{of_the_axes(connection)}"


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


def mode(taken: ModeView) -> Text:
    """How a question is answered, why, and what the server proposes instead."""
    text = Text()
    text.append(f"{taken.name}: ", "bold")
    text.append(f"{taken.reason}.")
    for note in taken.notes:
        text.append(f"\n{note}", "italic")
    return text


def quote(price: Quote) -> Text:
    """What a question would cost, before it is asked."""
    text, cost, ledger = Text(), price.cost, price.terms.price
    if not isinstance(cost, Cost) or ledger is None:
        return text
    if not price.fresh:
        text.append(f"\nAsking sends the signal of {price.slot} again, for nothing.")
        return text
    text.append(f"\nAsking draws the signal of {price.slot} and costs\n")
    _append_loss(text, cost)
    text.append(
        f"Spent before it: {number(cost.spent)} of {number(cost.cap)}, this month "
        f"{number(ledger.spent_this_slot)} of {number(ledger.monthly_cap or 0)}."
    )
    if price.second_space:
        text.append(" It is this month's second space: you are asked first.", "bold")
    return text


def shall_i(price: Quote, *, again: bool) -> str:
    """A price as a question. again: another one was shown before it."""
    head = f"{CHANGED}\n" if again else ""
    costs = quote(price).plain.strip() if price.cost else NOTHING_LEAVES
    warning = f"\n{SECOND_SPACE}" if price.second_space else "\nAsk?"
    return f"{head}{costs}{warning}"


def outcome(answer: Answer) -> Text:
    """What left, and what it cost."""
    if answer.departure is None or answer.cost is None:
        return Text.assemble(("Nothing has left.\n", "bold"), mode(answer.mode))
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

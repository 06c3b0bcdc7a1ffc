"""Ask: one key, and everything that happens between a question and a pick.

Titles are rich Text here: never markup.
"""

from __future__ import annotations

from typing import Final

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

from askew_client.tui.lists import ResultList
from askew_client.tui.pictures import SENT, TRUE, HeatMap, axes_words, short_number
from askew_client.tui.screens.frame import ConfirmScreen, FrameScreen, Notice, ScrollPart, key
from askew_client.views.answers import Answer, Connection
from askew_client.views.cost import Cost, at_most
from askew_client.views.problems import Problem, Trouble

BEFORE_ASKING: Final = "or press a: one question, one answer"
WHAT_LEAVES: Final = (
    "Nothing has left yet. When you ask, your profile is bent by noise on this device, and only "
    "the bent copy is sent: a few integers, the same size for everybody."
)
NOTHING_LEAVES: Final = "Nothing leaves this device when you ask."
NOTHING_RATED: Final = "You have rated nothing of this catalog: this is what anybody would get."
CHANGED: Final = "This is not what was shown before, so nothing was drawn, charged or sent."
SECOND: Final = (
    "This month has a fresh signal already. A server can make a new feature space whenever it "
    "likes, and a second signal tells more about you. Ask all the same?"
)


class AskScreen(FrameScreen):
    """The signal leaving, the results arriving, the ranking and the pick."""

    MODE = "ask"
    KEY = "F4"
    TITLE = "Ask"
    SAYS = "Send a noisy signal, pick in private"
    PURPOSE = (
        "One key asks. The app fetches what this device holds when it starts, the same file as "
        "everybody. What is held is ranked here, and no signal leaves. In mode ask your profile is "
        "bent by noise, and only the bent copy leaves: the signal. The server answers with results "
        "for it; this device ranks them (◇) by your true profile, beside what it holds, and picks. "
        "Neither the ranking nor the pick is ever sent. The signal is drawn and paid for once a "
        "month; asking again in the same month sends the same one, at no further cost."
    )
    BINDINGS = [
        key("ask.ask", "a,enter", "ask", "Ask", "ask", key_display="a"),
        key("ask.stop", "escape", "stop", "Stop asking", "stop waiting"),
    ]

    _shown: Cost | None = None  # what stands on the screen, until it is used
    _sends = False  # whether what was shown or answered last sends a signal

    def body(self) -> ComposeResult:
        with Horizontal(id="asking"):
            with ScrollPart(id="leaving"):
                yield Static("What leaves", classes="heading")
                yield Static(WHAT_LEAVES, id="before", markup=False)
                yield Static("", id="price", markup=False)
                yield Static("", id="facts", markup=False)
                yield HeatMap()
                yield Static("", id="caption", markup=False)
            with Vertical(id="arriving"):
                yield Static("What comes back", classes="heading")
                with ScrollPart(id="results-window"):
                    yield Static("", id="mode", markup=False)
                    yield ResultList()
                yield Static("", id="pick", markup=False)
        with Horizontal(id="bar"):
            yield Button("Ask", id="ask", variant="primary")
            yield Static(BEFORE_ASKING, id="state", markup=False)

    def on_mount(self) -> None:
        self.query_one("#pick").display = False
        self.query_one(Button).focus()

    @work(exclusive=True, group="ask")
    async def ask(self, shown: Cost | None, *, sends: bool) -> None:
        """Ask on the terms that the screen shows, and show the answer, or what went wrong. Asking
        again stops the question before.

        shown: None where no price stands on the screen. What then draws a signal, or sends one
        where (sends) none left before, is shown first; and so is whatever took the place of a price
        that is void.
        """
        outcome: Answer | Problem | None = None
        if shown is not None and not shown.is_second:
            outcome = await self._asked(shown)
        while outcome is None or (
            isinstance(outcome, Problem) and outcome.trouble is Trouble.COST  # nothing was asked
        ):
            cost = await self.desk.on_network(lambda device: device.asker.show(device.titles))
            if isinstance(cost, Problem):
                outcome = cost
                break
            self._show_cost(cost)
            if outcome or cost.fresh or (cost.sends and not sends):
                head = "" if outcome is None else f"{CHANGED}\n"
                costs = _cost_text(cost).plain.strip() if cost.sends else NOTHING_LEAVES
                words = f"{head}{costs}\n{SECOND if cost.is_second else 'Ask?'}"
                if not await self.app.push_screen_wait(ConfirmScreen(words, "Ask")):
                    self._end("not asked: nothing was drawn, charged or sent")
                    return
            outcome = await self._asked(cost)
        if isinstance(outcome, Problem):
            self.query_one(Notice).tell(outcome)
            self._end("no answer this time")
            return
        self._sends = outcome.cost.sends
        self._show_answer(outcome)
        self._show_heat_map(outcome)
        unused = f"; this device does not know the titles of {outcome.unused} of your ratings"
        self._end(f"{outcome.source}; ranked here{unused if outcome.unused else ''}")

    async def _asked(self, shown: Cost) -> Answer | Problem:
        return await self.desk.on_network(
            lambda device: device.asker.ask(device.titles, shown=shown)
        )

    def _end(self, said: str) -> None:
        # The next question may have another connection, budget and price.
        self.set_class(False, "-waiting")
        self._say(said)
        self.desk.learn_connection()
        self.desk.read_budget()
        self.look()

    @work(exclusive=True, group="look")
    async def look(self) -> None:
        """Show what a question would cost now, if there is a connection."""
        if isinstance(self.desk.connection, Connection):
            cost = await self.desk.on_network(lambda device: device.asker.show(device.titles))
            if isinstance(cost, Cost):
                self._show_cost(cost)

    def on_screen_resume(self) -> None:
        # Settings and ledger may have changed on another screen.
        self.look()

    def on_button_pressed(self) -> None:
        self.action_ask()

    def action_ask(self) -> None:
        if self.desk.device is None:
            self._say("one moment: the device is opening its files")
            return
        self.query_one(Notice).hush()
        self._say("asking ...  Esc stops")
        self.set_class(True, "-waiting")
        shown, self._shown = self._shown, None
        self.ask(shown, sends=self._sends)

    def action_stop(self) -> None:
        if self.has_class("-waiting"):
            self.workers.cancel_group(self, "ask")
            self.set_class(False, "-waiting")
            self._say("stopped; a signal once drawn is sent again, for nothing more")
            self.look()

    def leave(self) -> None:
        self.action_stop()

    def _show_connection(self, connection: Connection | Problem | None) -> None:
        super()._show_connection(connection)
        self.look()

    def _show_cost(self, cost: Cost) -> None:
        # Only a cost that can be seen counts as one that was shown.
        price = self.query_one("#price", Static)
        price.update(_cost_text(cost))
        if price.display and not self.has_class("-waiting"):
            self._shown, self._sends = cost, cost.sends
        self.query_one("#mode", Static).update(_mode_text(cost))
        self.query_one("#before", Static).update(WHAT_LEAVES if cost.sends else NOTHING_LEAVES)

    def _show_answer(self, answer: Answer) -> None:
        for words in ("#before", "#price", "#mode"):
            self.query_one(words).display = False
        self.query_one("#facts", Static).update(_outcome_text(answer))
        self.query_one(ResultList).results = answer.results
        pick, best, text = self.query_one("#pick", Static), answer.pick, Text()
        if not answer.used:
            text.append(f"{NOTHING_RATED}\n", "italic")
        text.append("Your pick, never sent\n", "italic")
        text.append(f"{best.title}\n", "bold")
        pick.update(text.append(best.why))
        pick.display = True

    def _show_heat_map(self, answer: Answer) -> None:
        self.desk.learn_connection()  # a new space has axes of its own
        heat_map, caption = self.query_one(HeatMap), self.query_one("#caption", Static)
        connection, departure = self.desk.connection, answer.departure
        if departure and isinstance(connection, Connection):
            # Where the person is within what the server can tell from the signal.
            true, sent = departure.true_point, departure.point
            away = tuple(true[axis] - sent[axis] for axis in connection.map_axes)
            heat_map.show(float(answer.cost.epsilon), [(0.0,) * len(away)], away)
            words = "the brighter the map around ◆, the likelier you ● are there"
            caption.update(f"{words}{axes_words(connection)}")
        else:
            heat_map.show(0.0, ())
            caption.update("")

    def _say(self, text: str) -> None:
        self.query_one("#state", Static).update(text)


def _mode_text(cost: Cost) -> Text:
    return Text.assemble((f"{cost.mode}: ", "bold"), f"{cost.reason}.")


def _cost_text(cost: Cost) -> Text:
    # Before it is asked; empty where nothing leaves.
    text = Text()
    if not cost.fresh:
        again = f"\nAsking sends the signal of {cost.month} again, for nothing."
        return text.append(again if cost.sends else "")
    text.append(f"\nAsking draws the signal of {cost.month} and costs\n")
    _append_loss(text, cost)
    text.append(
        f"Spent before it: {short_number(cost.spent)} of {short_number(cost.cap)}, this month "
        f"{short_number(cost.spent_this_month)} of {short_number(cost.monthly_cap or 0)}."
    )
    if cost.is_second:
        text.append(" It is this month's second one: you are asked first.", "bold")
    return text


def _outcome_text(answer: Answer) -> Text:
    left, cost = answer.departure, answer.cost
    if left is None:
        return Text.assemble(("Nothing has left.\n", "bold"), _mode_text(cost))
    text = Text(f"{TRUE} you, here   {SENT} the signal, sent\n")
    for true, sent in zip(left.true_point, left.point, strict=True):
        text.append(f"{TRUE} {true:.2f}  →  {SENT} {sent:.2f}\n")
    numbers = f"{', '.join(map(str, left.values[:8]))}{', ...' if len(left.values) > 8 else ''}"
    text.append(f"({numbers})", "bold").append(" left, and k. No name, no rating, no clock.\n")
    text.append("Drawn just now" if left.fresh else "Sent again, free:", "bold")
    text.append(f" for {left.month}.\n" if left.fresh else f" it is the signal of {left.month}.\n")
    _append_loss(text, cost)
    text.append(f"Spent {short_number(cost.spent)} of {short_number(cost.cap)}.", "bold")
    if cost.wanted != cost.epsilon:
        text.append(f" Your ε of {short_number(cost.wanted)} counts from the next month on.")
    return text


def _append_loss(text: Text, cost: Cost) -> None:
    text.append(f"ε {at_most(cost.epsilon)} a rating, {at_most(cost.replaced_title)} a replaced ")
    text.append(f"title; {at_most(cost.at_median, 3)} at median distance, ")
    text.append(f"at most {at_most(cost.between_any_two, 3)} between any two.\n")

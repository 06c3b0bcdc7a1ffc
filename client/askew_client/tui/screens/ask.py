"""Ask: one key, and everything that happens between a question and a pick."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

from askew_client.tui import ask_words
from askew_client.tui.messages import Answered, Quoted
from askew_client.tui.screens.ask_work import AskWork
from askew_client.tui.screens.confirm import ConfirmScreen
from askew_client.tui.widgets.glow import Glow, Mark
from askew_client.tui.widgets.notice import Notice
from askew_client.tui.widgets.number_lines import SENT, TRUE, NumberLines
from askew_client.tui.widgets.result_list import ResultList
from askew_client.tui.widgets.window import Window
from askew_client.views.answers import Answer, Connection, Departure, ModeView, NoisePicture
from askew_client.views.problems import Setback
from askew_client.views.quote import Quote


class AskScreen(AskWork):
    """The signal leaving, the results arriving, the ranking and the pick."""

    MODE = "ask"
    TITLE = "Ask"
    PURPOSE = ask_words.PURPOSE
    KEYS = (
        ("a, Enter", "ask"),
        ("Esc", "stop waiting"),
    )
    BINDINGS = [
        Binding("a,enter", "ask", "Ask", key_display="a", id="ask"),
        Binding("escape", "stop", "Stop asking", id="stop"),
    ]

    _mode: ModeView | None = None
    _shown: Quote | None = None  # the price that stands on the screen, until it is used
    _sends = False  # whether what was shown or answered last sends a signal

    def body(self) -> ComposeResult:
        """What leaves on the left, what comes of it on the right."""
        with Horizontal(id="asking"):
            with Window(id="leaving"):
                yield Static("What leaves", classes="heading")
                yield Static(ask_words.WHAT_LEAVES, id="before", markup=False)
                yield Static("", id="price", markup=False)
                yield NumberLines()
                yield Static("", id="facts", markup=False)
                yield Glow()
                yield Static("", id="caption", markup=False)
            with Vertical(id="arriving"):
                yield Static("What comes back", classes="heading")
                yield Static("", id="flow", markup=False)
                with Window(id="results-window"):
                    yield Static("", id="mode", markup=False)
                    yield ResultList()
                yield Static("", id="pick", markup=False)
        with Horizontal(id="bar"):
            yield Button("Ask", id="ask", variant="primary")
            yield Static(ask_words.BEFORE_ASKING, id="state", markup=False)

    def on_mount(self) -> None:
        """Everything is about to happen."""
        companion = self.desk.companion
        self.query_one("#flow", Static).update(
            ask_words.flow(companion.settings.k if companion else 8)
        )
        self.query_one("#pick").display = False
        self.query_one(Button).focus()

    # Messages and keys

    def on_screen_resume(self) -> None:
        """Settings and ledger may have changed on another screen."""
        self.quote()

    def _show_price(self, quote: Quote) -> None:
        """Only a price that can be seen is one that was shown."""
        price = self.query_one("#price", Static)
        price.update(ask_words.quote(quote))
        if price.display and not self.has_class("-waiting"):
            self._shown, self._sends = quote, quote.cost is not None

    def _show_connection(self, connection: Connection | Setback | None) -> None:
        super()._show_connection(connection)
        self.quote()

    def on_quoted(self, message: Quoted) -> None:
        """Show the price before anything is sent, or that nothing would be."""
        quote, companion = message.quote, self.desk.companion
        self._mode = quote.mode
        self._show_price(quote)
        self.query_one("#mode", Static).update(ask_words.mode(quote.mode))
        if companion is not None:
            asks, k = quote.mode.asks, companion.settings.k
            before = ask_words.WHAT_LEAVES if asks else ask_words.NOTHING_LEAVES
            self.query_one("#before", Static).update(before)
            flow = ask_words.flow(k) if asks else ask_words.flow_here(k)
            self.query_one("#flow", Static).update(flow)

    def on_button_pressed(self) -> None:
        """The button is the same as the key."""
        self.action_ask()

    def action_ask(self) -> None:
        """Ask."""
        if self.desk.companion is None:
            self._say("one moment: the device is opening its files")
            return
        self.query_one(Notice).hush()
        self._say("asking ...  Esc stops")
        self.set_class(True, "-waiting")
        shown, self._shown = self._shown, None
        self.ask(shown, sends=self._sends)

    def action_consent(self) -> None:
        """Consent to a proposal that costs more than the settings, after a question."""
        if self._mode is None or not self._mode.consent:
            self._say("this server proposes nothing that needs your consent")
            return
        question = "\n".join((*self._mode.notes, "Consent to it?"))
        self.app.push_screen(ConfirmScreen(question, "Consent"), self._consent_if)

    def _consent_if(self, sure: bool | None) -> None:
        if sure and self._mode is not None:
            self.consent(self._mode.consent)

    def action_stop(self) -> None:
        """Stop waiting."""
        if self.has_class("-waiting"):
            self.workers.cancel_group(self, "ask")
            self.set_class(False, "-waiting")
            self._say("stopped; a signal once drawn is sent again, for nothing more")
            self.quote()

    def leave(self) -> None:
        """Another screen: a question under way is stopped."""
        self.action_stop()

    def on_answered(self, message: Answered) -> None:
        """Show what became of the question."""
        if not self.has_class("-waiting"):
            return
        self.set_class(False, "-waiting")
        match message.outcome:
            case None:
                self._say("not asked: nothing was drawn, charged or sent")
            case Answer() as answer:
                self._sends = answer.cost is not None
                self._show_answer(answer)
                self._show_glow(message.noise, answer.departure)
            case Setback() as setback:
                self._show_setback(setback)
        self.desk.learn_connection()
        self.desk.read_budget()
        self.quote()

    # What it shows

    def _show_answer(self, answer: Answer) -> None:
        for words in ("#before", "#price", "#mode"):
            self.query_one(words).display = False
        self.query_one(NumberLines).departure = answer.departure
        self.query_one("#facts", Static).update(ask_words.outcome(answer))
        self._say(f"{answer.source}; ranked here{_left_out(answer)}")
        at_once = self.app.animation_level == "none"
        self.query_one(ResultList).show(answer.results, at_once=at_once)
        self._show_pick(ask_words.pick(answer))

    def _show_glow(self, noise: NoisePicture | None, departure: Departure | None) -> None:
        self.desk.learn_connection()  # a new space has axes of its own
        glow, caption = self.query_one(Glow), self.query_one("#caption", Static)
        connection = self.desk.connection
        if noise and departure and departure.point and isinstance(connection, Connection):
            glow.show(noise, _marks(departure.true_point, departure.point, connection.map_axes))
            caption.update(ask_words.glow_caption(connection))
        else:
            glow.show(None, ())
            caption.update("")

    def _show_setback(self, setback: Setback) -> None:
        self.query_one(Notice).tell(setback)
        self._say("no answer this time")

    def _show_pick(self, text: Text) -> None:
        self.query_one("#flow").display = False
        pick = self.query_one("#pick", Static)
        pick.update(text)
        pick.display = True

    def _say(self, text: str) -> None:
        self.query_one("#state", Static).update(text)

    def commands(self) -> Iterable[SystemCommand]:
        """For the palette."""
        yield SystemCommand("Ask", "Send this month's signal, pick in private", self.action_ask)
        yield SystemCommand("Stop asking", "Stop waiting for the server", self.action_stop)
        consent = "To what this server proposes and costs more"
        yield SystemCommand("Consent to the proposal", consent, self.action_consent)


def _marks(
    true: tuple[float, ...], sent: tuple[float, ...], axes: tuple[int, ...]
) -> tuple[Mark, ...]:
    """Where the person is within what the server can tell from the signal, on these axes."""
    away = tuple(true[axis] - sent[axis] for axis in axes)
    return (Mark((0.0,) * len(away), SENT, "public"), Mark(away, TRUE, "private"))


def _left_out(answer: Answer) -> str:
    if not answer.unused:
        return ""
    return f"; this device does not know the titles of {answer.unused} of your ratings"

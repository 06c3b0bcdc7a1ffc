"""What the screen Ask sets going: workers, which bring what they found by message."""

from __future__ import annotations

from functools import partial

from textual import work

from askew_client.tui import ask_words
from askew_client.tui.keeping import give_consent
from askew_client.tui.messages import Answered, Quoted, Refused
from askew_client.tui.screens.confirm import ConfirmScreen
from askew_client.tui.screens.frame import FrameScreen
from askew_client.views.answers import Answer, Connection, NoisePicture
from askew_client.views.problems import Setback, Trouble
from askew_client.views.quote import Quote


class AskWork(FrameScreen):
    """The half of the screen that never touches a widget."""

    @work(exclusive=True, group="ask")
    async def ask(self, shown: Quote | None, *, sends: bool) -> None:
        """Ask on the terms that the screen shows, and bring the answer. Asking again stops the
        question before.

        shown: None where no price stands on the screen. What then draws a signal, or sends one
        where (sends) none left before, is shown first; and so is whatever took the place of a price
        that is void.
        """
        companion = self.desk.companion
        if companion is None:
            return
        outcome: Answer | Setback | None = None
        if shown is not None and not shown.second_space:
            outcome = await companion.ask(quoted=shown)
        while outcome is None or _is_void(outcome):
            quote = await companion.quote()
            if isinstance(quote, Setback):
                outcome = quote
                break
            self.post_message(Quoted(quote))
            if outcome or quote.fresh or (quote.cost is not None and not sends):
                words = ask_words.shall_i(quote, again=outcome is not None)
                if not await self.app.push_screen_wait(ConfirmScreen(words, "Ask")):
                    self.post_message(Answered(None))
                    return
            outcome = await companion.ask(second_space=quote.second_space, quoted=quote)
        noise: NoisePicture | None = None
        if isinstance(outcome, Answer) and outcome.cost is not None:
            epsilon, k = outcome.cost.epsilon, len(outcome.results)
            preview = await self.desk.on_device(lambda device: device.preview(epsilon, k))
            noise = None if isinstance(preview, Setback) else preview.noise
        self.post_message(Answered(outcome, noise))

    @work(exclusive=True, group="quote")
    async def quote(self) -> None:
        """Bring what a question would cost, once it is known."""
        companion = self.desk.companion
        if companion is not None and isinstance(self.desk.connection, Connection):
            quote = await companion.quote()
            if isinstance(quote, Quote):
                self.post_message(Quoted(quote))

    @work(group="consent")
    async def consent(self, given: str) -> None:
        """Keep a consent to what the server proposes, and bring what a question would cost then."""
        kept = await self.desk.on_device(partial(give_consent, self.desk.file, given=given))
        if isinstance(kept, Setback):
            self.post_message(Refused(kept))
        self.quote()


def _is_void(outcome: Answer | Setback) -> bool:
    """Whether something else was shown than would be asked now, and so nothing was."""
    return isinstance(outcome, Setback) and outcome.trouble is Trouble.QUOTE

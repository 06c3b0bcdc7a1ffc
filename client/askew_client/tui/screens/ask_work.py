"""What the screen Ask sets going: workers, which bring what they found by message."""

from __future__ import annotations

from functools import partial

from textual import work

from askew_client.tui import ask_words
from askew_client.tui.keeping import use_settings
from askew_client.tui.messages import Answered, Quoted, Refused
from askew_client.tui.screens.confirm import ConfirmScreen
from askew_client.tui.screens.frame import FrameScreen
from askew_client.views.problems import Setback
from askew_client.views.quote import Quote
from askew_client.views.values import Answer, Connection, NoisePicture


class AskWork(FrameScreen):
    """The half of the screen that never touches a widget."""

    @work(exclusive=True, group="ask")
    async def ask(self) -> None:
        """Ask, and bring the answer. Asking again stops the question before."""
        companion = self.desk.companion
        if companion is None:
            return
        quote = await companion.quote()
        told = quote if isinstance(quote, Quote) else None
        second = told is not None and told.second_space
        if told is not None:
            self.post_message(Quoted(told))
        if second:
            question = ConfirmScreen(ask_words.SECOND_SPACE, "Ask")
            second = await self.app.push_screen_wait(question)
        outcome = await companion.ask(second_space=second, quoted=told)
        noise: NoisePicture | Setback | None = None
        if isinstance(outcome, Answer) and outcome.cost is not None:
            epsilon, k = outcome.cost.epsilon, len(outcome.results)
            noise = await self.desk.on_device(lambda device: device.noise(epsilon, k))
        self.post_message(Answered(outcome, noise if isinstance(noise, NoisePicture) else None))

    @work(exclusive=True, group="quote")
    async def quote(self) -> None:
        """Bring what a question would cost, once it is known."""
        companion = self.desk.companion
        if companion is not None and isinstance(self.desk.connection, Connection):
            quote = await companion.quote()
            if isinstance(quote, Quote):
                self.post_message(Quoted(quote))

    @work(group="accept")
    async def accept(self, words: str) -> None:
        """Keep a yes to what the server proposes, and bring what a question would cost then."""
        keep = partial(use_settings, self.desk.file, typed={"accept": words})
        kept = await self.desk.on_device(keep)
        if isinstance(kept, Setback):
            self.post_message(Refused(kept))
        self.quote()

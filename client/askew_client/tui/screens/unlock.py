"""The passphrase of an encrypted profile."""

from __future__ import annotations

from typing import cast

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from askew_client.tui.desk import Desk
from askew_client.tui.messages import Unlocked
from askew_client.tui.widgets.notice import Notice
from askew_client.views.problems import Setback


class UnlockScreen(ModalScreen[None]):
    """Asks until it fits, or until the person goes on without a profile."""

    BINDINGS = [Binding("escape", "dismiss", "Go on without it")]

    def compose(self) -> ComposeResult:
        """A line to type into."""
        with Vertical(id="dialog"):
            yield Static(Text("Your profile is locked", "bold"))
            yield Static(Text("It is encrypted on this device. Type its passphrase."))
            yield Input(password=True, placeholder="passphrase", id="passphrase")
            yield Notice()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Try it; this takes half a second on purpose."""
        self.unlock(event.value)
        event.input.clear()

    @work(exclusive=True)
    async def unlock(self, passphrase: str) -> None:
        """Try a passphrase in a thread."""
        desk = cast("Desk", self.app)
        outcome = await desk.on_device(lambda device: device.unlock(passphrase))
        self.post_message(Unlocked(outcome if isinstance(outcome, Setback) else None))

    def on_unlocked(self, message: Unlocked) -> None:
        """A wrong passphrase changes nothing; the right one opens the profile."""
        if message.setback is not None:
            self.query_one(Notice).tell(message.setback)
        else:
            cast("Desk", self.app).read_profile()
            self.dismiss()

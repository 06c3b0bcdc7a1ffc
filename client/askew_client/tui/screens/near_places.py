"""Adding, moving and forgetting places on the screen Near: what is asked, and what is said."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from textual.app import SystemCommand

from askew.spaces.map import Position
from askew_client.settings.towns import named_towns
from askew_client.tui import near_desk, near_words
from askew_client.tui.messages import Refused
from askew_client.tui.near_desk import PlaceDraft, Ranked
from askew_client.tui.near_messages import Kept, Priced
from askew_client.tui.screens.confirm import ConfirmScreen
from askew_client.tui.screens.near_work import NearWork
from askew_client.tui.screens.place import PlaceScreen
from askew_client.tui.widgets.choice import Choice
from askew_client.views.problems import Setback
from askew_client.views.quote import PlaceView


class NearPlaces(NearWork):
    """The half of the screen that asks about a place before anything is drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.places: tuple[PlaceView, ...] = ()

    @property
    def place(self) -> PlaceView | None:
        """The chosen place, if there is one."""
        name = self.query_one("#place", Choice).name_chosen
        return next((each for each in self.places if each.name == name), None)

    def show_answer(self, ranked: Ranked | None) -> None:
        """Show results and a pick, or none."""
        raise NotImplementedError

    def catch_up(self) -> None:
        """Bring what may have changed."""
        raise NotImplementedError

    def on_priced(self, message: Priced) -> None:
        """Open the dialog, which says what it will cost."""
        companion = self.desk.companion
        if isinstance(message.outcome, Setback):
            self.post_message(Refused(message.outcome))
        elif companion is not None:
            moved = self.place if message.moves else None
            dialog = PlaceScreen(
                name=None if moved is None else moved.name,
                start=None if moved is None else Position(*moved.true),
                region=companion.settings.region,
                prices=message.outcome,
                towns=named_towns(),
            )
            self.app.push_screen(dialog, partial(self._keep, moves=message.moves))

    def on_kept(self, message: Kept) -> None:
        """Places or settings are others now."""
        if isinstance(message.outcome, Setback):
            self.post_message(Refused(message.outcome))
        else:
            self.notify(message.outcome, markup=False)
            self.show_answer(None)
            if message.name:  # what was named is what one asks from next
                self.query_one("#place", Choice).offer([message.name], message.name)
        self.catch_up()
        self.desk.read_budget()

    def action_add(self) -> None:
        """A place more."""
        self.price(moves=False)

    def action_relocate(self) -> None:
        """The chosen place is elsewhere."""
        if self.place is not None:
            self.price(moves=True)

    def _keep(self, draft: PlaceDraft | None, *, moves: bool) -> None:
        if draft is not None:
            act = partial(near_desk.keep, draft=draft, file=self.desk.file, moves=moves)
            self.keep(act, draft.name)

    def action_forget(self) -> None:
        """Forget the chosen place, after a second look."""
        if self.place is not None:
            name = self.place.name
            question = near_words.FORGET.format(name=name)
            then = partial(self._forget, name)
            self.app.push_screen(ConfirmScreen(question, "Forget"), then)

    def _forget(self, name: str, sure: bool | None) -> None:
        if sure:
            self.keep(partial(near_desk.forget, name=name))

    def commands(self) -> Iterable[SystemCommand]:
        """For the palette."""
        yield SystemCommand("Add a place", "Draw one noisy position, for good", self.action_add)
        yield SystemCommand("Move the place", "A new signal, a new charge", self.action_relocate)
        yield SystemCommand("Forget the place", "Refunds nothing", self.action_forget)

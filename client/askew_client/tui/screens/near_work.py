"""What the screen Near sets going: workers, which bring what they found by message."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from textual import work

from askew.errors import QuoteVoid
from askew_client.tui import near_desk
from askew_client.tui.near_desk import Ranked
from askew_client.tui.near_messages import Kept, Looked, Met, Ordered, PlacesRead, Priced
from askew_client.tui.screens.frame import FrameScreen
from askew_client.views.problems import Setback, setback_of
from askew_client.views.quote import NearAnswer, Quote

if TYPE_CHECKING:
    from askew_client.device.device import Companion
    from askew_client.near.wishes import Wishes


class NearWork(FrameScreen):
    """The half of the screen that never touches a widget."""

    @work(exclusive=True, group="places")
    async def read(self) -> None:
        """Bring the named places."""
        self.post_message(PlacesRead(await self.desk.on_device(near_desk.places)))

    @work(exclusive=True, group="meet")
    async def meet(self, companion: Companion) -> None:
        """Bring the collections of the server."""
        found = await companion.nearby.connect()
        self.post_message(Met(found if isinstance(found, Setback) else found.collections))

    @work(exclusive=True, group="look")
    async def look(self, name: str, level: str, k: int, *, what_if: bool) -> None:
        """Bring what can be known before a question. A newer choice takes an older one's place."""
        act = partial(near_desk.look, name=name, level=level, k=k, what_if=what_if)
        self.post_message(Looked(await self.desk.on_device(act)))

    @work(exclusive=True, group="ask")
    async def ask(self, companion: Companion, collection: str, place: str, wishes: Wishes) -> None:
        """Ask, and bring the answer in the person's order. Asking again stops the one before."""
        answer: NearAnswer | Setback
        quote = await companion.nearby.quote(collection, place)
        if isinstance(quote, Quote) and not quote.fresh:  # as it says: sent again, for nothing
            answer = await companion.nearby.near(collection, place, wishes=wishes, quoted=quote)
        elif isinstance(quote, Quote):
            answer = setback_of(QuoteVoid("this place's signal would be drawn anew"))
        else:
            answer = quote
        if isinstance(answer, Setback):
            self.post_message(Ordered(answer))
        else:
            act = partial(near_desk.ranked, answer=answer)
            self.post_message(Ordered(await self.desk.on_device(act)))

    @work(exclusive=True, group="order")
    async def order_again(self, ranked: Ranked, wishes: Wishes) -> None:
        """Bring the same results in another order; nothing is sent."""
        act = partial(near_desk.ranked_again, answer=ranked.answer, wishes=wishes)
        self.post_message(Ordered(await self.desk.on_device(act), again=True))

    @work(exclusive=True, group="price")
    async def price(self, *, moves: bool) -> None:
        """Bring what a position would cost, for the dialog."""
        self.post_message(Priced(await self.desk.on_device(near_desk.prices), moves))

    @work(group="keep")
    async def keep(self, act: Callable[[Companion], str], name: str = "") -> None:
        """Add, move or forget a place, or use other settings, and say so. name: of a place that is
        drawn.
        """
        self.post_message(Kept(await self.desk.on_device(act), name))

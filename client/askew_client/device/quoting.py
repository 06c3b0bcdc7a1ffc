"""Quotes of one device at one server: given, and used once, for the very question that they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final
from weakref import WeakSet

from askew.errors import ParameterError, QuoteVoid
from askew_client.views.quote import Price, Quote, Terms

IN_PROCESS: Final = "in-process"  # the name of a server without an address
_USED = "this quote was used already, or it is of another device or server"
_FREE = (
    "a question sends a signal now, and nothing left this device before; `quote` says what it "
    "costs, and `ask(quoted=...)` asks"
)


class Quotes:
    """What was shown and is not used yet. server: its address, which no server chooses.

    Not safe for threads: quotes are shown and used between the steps of one event loop.
    """

    def __init__(self, server: str) -> None:
        self.server = server
        self._open: WeakSet[Quote] = WeakSet()
        self._free = False  # what was shown or done last: whether nothing left the device

    def show(self, quote: Quote) -> Quote:
        """A quote that may be used once from now on."""
        self._open.add(quote)
        self._free = quote.cost is None
        return quote

    def use(self, quote: Quote | None) -> Terms | None:
        """What was shown, for one question. Raises QuoteVoid for a quote that was used, and for one
        of another device, and ParameterError for what is no quote. It is gone then, whatever
        becomes of the question.
        """
        if quote is None:
            return None
        if not isinstance(quote, Quote):
            raise ParameterError("quoted", type(quote).__name__, "a Quote, as `quote` returns it")
        if quote not in self._open:
            raise QuoteVoid(_USED)
        self._open.discard(quote)
        return quote.terms

    def settle(self, *, sends: bool, shown: Terms | None) -> None:
        """Raises QuoteVoid for a question that was not shown and sends a signal, where nothing left
        this device for the last one: the settings allow it, and nobody was told.
        """
        if shown is None and sends and self._free:
            raise QuoteVoid(_FREE)
        # A question with a quote may still be refused for it: only the price that was shown ends
        # what a person was told, that nothing leaves.
        self._free = not sends or (shown is not None and self._free)


def covered(terms: Terms, shown: Terms | None) -> Callable[[Price], None] | None:
    """What the ledger asks before it charges: raises QuoteVoid unless the very same was shown."""
    return None if shown is None else lambda price: replace(terms, price=price).check(shown)

"""What every question shares: a quote, given and used once, and the signal that something private
makes, once, and that is kept.

The store and the randomness are arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol
from weakref import WeakSet

from askew.dp.privacy import SignalCharge
from askew.errors import LedgerError, ParameterError, QuoteVoid, WireError
from askew.noise.randomness import RandomBits
from askew.protocol.signal import Query, Signal
from askew_client.views.quote import Price, Quote, Terms


class SignalMemory(Protocol):
    """Where signals are kept, with what they cost."""

    def remember(  # noqa: PLR0913  # what is drawn, what it costs, what finds it again
        self,
        space_version: str,
        month: str,
        charge: SignalCharge,
        draw: Callable[[], Signal],
        *,
        handle: str = "",
        second_space: bool = False,
        check: Callable[[Price], None] | None = None,
    ) -> tuple[Signal, Price]:
        """The stored signal of (space version, handle, month), or a fresh one, charged and stored
        first; a place's signal, which is of no space, is of every month.

        check raises for a price that was not shown, with what the ledger says as it is charged.
        Raises BudgetExceeded or SecondSpace, in which case nothing was drawn, or LedgerError, in
        which case what was drawn is lost and must not be sent.
        """


class SignalSource(Protocol):
    """What is private, and how it makes a signal. All else of a question is the same for all."""

    @property
    def space_version(self) -> str:
        """What its signal is kept under, with the handle and the month."""

    @property
    def handle(self) -> str:
        """Of a named value or place; else ""."""

    @property
    def charge(self) -> SignalCharge:
        """What a fresh signal costs, by this device's own reckoning."""

    @property
    def k(self) -> int:
        """Results to ask for; public."""

    def perturb(self, bits: RandomBits) -> Signal:
        """A fresh signal, neither charged nor stored."""

    def check(self, signal: Signal) -> None:
        """Raises WireError for a stored signal that this source would not send."""


@dataclass(frozen=True)
class Question:
    """What is sent, and what the ledger said of its signal: whether it was drawn for it."""

    query: Query
    price: Price


def ask(  # noqa: PLR0913  # who asks, when, and on which terms
    source: SignalSource,
    month: str,
    memory: SignalMemory,
    bits: RandomBits,
    *,
    second_space: bool = False,
    check: Callable[[Price], None] | None = None,
) -> Question:
    """The question of this month, with the same signal however often it is asked.

    A stored signal is sent again even if what is private or the settings have changed since: what
    is drawn anew costs anew, and a redraw that follows the person would say when they changed.
    second_space: the person's yes to a fresh signal for a second space within the month. check: of
    what the ledger says as it is charged; it raises where the person was shown something else.
    """
    signal, price = memory.remember(
        source.space_version,
        month,
        source.charge,
        lambda: source.perturb(bits),
        handle=source.handle,
        second_space=second_space,
        check=check,
    )
    try:
        source.check(signal)
    except WireError:
        raise LedgerError("the stored signal does not fit its space; it is not sent") from None
    return Question(Query(signal, source.k), price)


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

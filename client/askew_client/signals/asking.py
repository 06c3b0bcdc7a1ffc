"""What every question shares: something private makes a signal, once, and it is kept.

The store and the randomness are arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from askew.dp.privacy import SignalCharge
from askew.errors import LedgerError, WireError
from askew.noise.randomness import RandomBits
from askew.protocol.signal import Query, Signal
from askew_client.views.quote import Price


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

    @property
    def collection(self) -> str:
        """What is asked; public."""

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
    return Question(Query(signal, source.k, source.collection), price)

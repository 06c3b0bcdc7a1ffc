"""What a person is shown before a question. All of it holds when it is charged, or nothing is.

A quote covers one question and is used once. What a question is, and what the ledger says of it,
is compared inside the transaction that would draw and charge: whoever was shown that nothing leaves
the device, or a smaller price, is asked again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING

from askew.dp.privacy import SignalCharge
from askew.errors import QuoteVoid
from askew_client.views.values import Cost
from askew_client.views.ways import TakenWay

if TYPE_CHECKING:
    from askew.protocol.signal import Mechanism
    from askew_client.views.near import AxesCost, PlaceCost


@dataclass(frozen=True)
class Price:
    """What the ledger says of one signal, and of the account that it is charged in.

    slot: by the ledger's clock. stored: the mechanism of the signal that is sent again for nothing;
    None where one is drawn and charged. charge: of a fresh one. spent and spent_this_slot are
    before it; draw_cap: of one position. None where there is no such cap.
    """

    slot: str
    stored: Mechanism | None
    charge: SignalCharge
    second_space: bool
    spent: Fraction
    spent_this_slot: Fraction
    lifetime_cap: Fraction
    monthly_cap: Fraction | None
    draw_cap: Fraction | None

    @property
    def fresh(self) -> bool:
        """Whether a signal is drawn and charged."""
        return self.stored is None


@dataclass(frozen=True)
class Terms:
    """All that one question is, and what it costs. Public, but for the place.

    edition: the date of what is held, or the version of a collection. mechanism: by which a fresh
    signal is drawn; None where none is. one_rating: what it tells of one rating at most. place: the
    name, or the spot itself, and handle is its version. region: where a fresh position is drawn.
    price: None where nothing is sent, and so no ledger is looked at.
    """

    server: str
    authority: str
    mode: str
    space_version: str
    collection: str
    slot: str
    edition: int | str
    k: int
    mechanism: Mechanism | None = None
    one_rating: Fraction = Fraction(0)
    place: object = field(repr=False, default=None)
    handle: str = field(repr=False, default="")
    region: str = ""
    price: Price | None = None

    def check(self, shown: Terms) -> None:
        """Raises QuoteVoid, which names the first that is another one now, unless these were shown.

        Whoever is shown another mode is shown other noise too, and needs no list of it.
        """
        if self == shown:
            return
        named = zip(fields(self), _IN_WORDS, strict=True)
        changed = [w for f, w in named if getattr(self, f.name) != getattr(shown, f.name)]
        raise QuoteVoid(f"{changed[0]} changed")


_IN_WORDS = (
    "the server",
    "the authority that vouches for it",
    "the way of asking",
    "the space",
    "the collection",
    "the month",
    "the catalog's date",
    "the number of results",
    "the noise",
    "what one rating tells",
    "the place",
    "where the place is",
    "the region",
    "what the ledger says",
)


@dataclass(frozen=True, eq=False)
class Quote:
    """What one question would be and cost now; nothing was drawn, charged or asked for.

    The same for every profile: by the settings, the server's card, what is held, the ledger and
    which place was chosen. way: how it would be answered, in words. cost: None where nothing would
    be sent. Two quotes are never equal: each one covers one question.
    """

    terms: Terms
    way: TakenWay
    cost: Cost | PlaceCost | AxesCost | None

    @property
    def slot(self) -> str:
        """The month of the signal, by the ledger's clock."""
        return self.terms.slot if self.terms.price is None else self.terms.price.slot

    @property
    def collection(self) -> str:
        """What is asked; "" for a catalog of titles."""
        return self.terms.collection

    @property
    def fresh(self) -> bool:
        """Whether a signal would be drawn and charged, rather than sent again for nothing."""
        return self.terms.price is not None and self.terms.price.fresh

    @property
    def second_space(self) -> bool:
        """Whether it would be the month's second space, and so needs the person's yes."""
        return self.terms.price is not None and self.terms.price.second_space

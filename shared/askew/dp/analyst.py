"""What an analyst asks, and the budget that the answers are paid from: pay what you get.

Source: Durfee, Rogers 2019, Algorithm 3 (pay what you get) and Theorem 2 (what it loses in all).
"""

from __future__ import annotations

from dataclasses import dataclass

from askew.dp.odometer import PayWhatYouGet
from askew.errors import OutOfRange
from askew.limits import check_text

MAX_K = 1000
MAX_KEY = 64


@dataclass(frozen=True)
class TopKQuestion:
    """The most popular items of a data set, k at most, under a name of the caller's own.

    key makes a retry the same question. Raises OutOfRange for a k, name or key beyond its limits.
    """

    dataset: str
    k: int
    key: str

    def __post_init__(self) -> None:
        if not 1 <= self.k <= MAX_K:
            raise OutOfRange("k", f"from 1 to {MAX_K}")
        check_text("the name of a data set", self.dataset)
        check_key(self.key)


@dataclass(frozen=True)
class BudgetStatus:
    """One analyst's terms on one data set, and what is spent of them, reservations included.

    closed: nothing may be asked any more, because the operator revoked the budget, or let a ledger
    go on that had lost rows. What was spent stands; outcomes_left is 0.
    Raises OutOfRange when more is spent than the terms allow.
    """

    terms: PayWhatYouGet
    outcomes: int
    calls: int
    closed: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.outcomes <= self.terms.k_star:
            raise OutOfRange("the outcomes spent", "from 0 to k_star")
        if not 0 <= self.calls <= self.terms.l_star:
            raise OutOfRange("the calls made", "from 0 to l_star")

    @property
    def outcomes_left(self) -> int:
        """The largest k that may be asked now; 0 when nothing may."""
        usable = not self.closed and self.calls < self.terms.l_star
        return self.terms.k_star - self.outcomes if usable else 0


def check_key(key: str) -> None:
    """Raises OutOfRange unless the key is 1 to 64 printable ASCII characters without spaces."""
    if not (0 < len(key) <= MAX_KEY and key.isascii() and key.isprintable() and " " not in key):
        raise OutOfRange("a key", f"1 to {MAX_KEY} printable ASCII characters without spaces")

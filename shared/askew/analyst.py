"""What an analyst asks, and the budget that the answers are paid from: pay what you get.

Source: Durfee, Rogers 2019, Algorithm 3 (pay what you get) and Theorem 2 (what it loses in all).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from askew.errors import OutOfRange
from askew.model_card import check_text

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
class AnalystBudget:
    """One analyst's budget on one data set, and what is spent of it.

    An outcome is an item or the stop. epsilon is per outcome, delta per question; all that the
    budget allows together is (total_epsilon, total_delta)-DP by Theorem 2.
    Raises OutOfRange when more is spent than allowed.
    """

    max_outcomes: int
    spent_outcomes: int
    max_questions: int
    asked_questions: int
    epsilon: Fraction
    delta: Fraction
    total_epsilon: Fraction
    total_delta: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.spent_outcomes <= self.max_outcomes:
            raise OutOfRange("spent_outcomes", "from 0 to max_outcomes")
        if not 0 <= self.asked_questions <= self.max_questions:
            raise OutOfRange("asked_questions", "from 0 to max_questions")


def check_key(key: str) -> None:
    """Raises OutOfRange unless the key is 1 to 64 printable ASCII characters without spaces."""
    if not (0 < len(key) <= MAX_KEY and key.isascii() and key.isprintable() and " " not in key):
        raise OutOfRange("a key", f"1 to {MAX_KEY} printable ASCII characters without spaces")

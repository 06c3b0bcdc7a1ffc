"""A person's yes to a server's proposal that costs more than the settings say: to this one alone.

    bucket_rr:EPSILON:K                               the epsilon is the bound for any two people
    geo_laplace:EPSILON:K:ANY_TWO:ONE_RATING          what the space may make of it, two bounds more

A server names the mechanism, epsilon and k that were accepted, or the yes does not count. What a
point's epsilon costs depends on the server's space too, so those two bounds are part of the yes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Self

from askew.errors import ParameterError

_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,9}|/[1-9][0-9]{0,8})?"
_FORM = re.compile(
    rf"(?:bucket_rr:({_NUMBER}):([0-9]{{1,4}})"
    rf"|geo_laplace:({_NUMBER}):([0-9]{{1,4}}):({_NUMBER}):({_NUMBER}))"
)
_LIMIT = "bucket_rr:EPSILON:K or geo_laplace:EPSILON:K:ANY_TWO:ONE_RATING, as `askew ask` wrote it"


@dataclass(frozen=True)
class Accepted:
    """What was accepted: the terms of a signal, and the most that it may cost between any two
    people and for one rating.
    """

    mechanism: str
    epsilon: Fraction
    k: int
    between_any_two: Fraction
    one_rating: Fraction

    @classmethod
    def parsed(cls, text: object) -> Self:
        """The yes that a text says. Raises ParameterError for any other text."""
        found = _FORM.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise ParameterError("accept", text, _LIMIT)
        if found[1]:
            epsilon = Fraction(found[1])
            return cls("bucket_rr", epsilon, int(found[2]), epsilon, epsilon)
        numbers = (Fraction(found[5]), Fraction(found[6]))
        return cls("geo_laplace", Fraction(found[3]), int(found[4]), *numbers)

    def __str__(self) -> str:
        """The text that `parsed` reads; the two bounds in thousandths, rounded up."""
        terms = f"{self.mechanism}:{self.epsilon}:{self.k}"
        if self.mechanism == "bucket_rr":
            return terms
        bounds = (self.between_any_two, self.one_rating)
        return ":".join([terms, *(f"{ceil(1000 * each) / 1000:.12g}" for each in bounds)])

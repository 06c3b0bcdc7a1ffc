"""A person's consent to a signal that costs more than the settings say: at one server and space.

    TERMS@END@SPACE@SERVER             END: the last month, such as 2027-10
    TERMS@END@SPACE@SERVER@AUTHORITY   AUTHORITY: the file of certificates that vouches, %-escaped

    bucket_rr:EPSILON:K                               the epsilon is the bound for any two people
    geo_laplace:EPSILON:K:ANY_TWO:ONE_RATING          what the space may make of it, two bounds more

A server names the mechanism, epsilon and k that were consented to, or the consent does not count.
What a point's epsilon costs depends on the server's space too, so those two bounds are part of it.
The setting has all consents, with blanks between them. Whoever trusts one server trusts no other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final, Self
from urllib.parse import quote, unquote

from askew.errors import ParameterError

MONTHS: Final = 12  # that a consent lasts, the first one included
_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,9}|/[1-9][0-9]{0,8})?"
_FORM = re.compile(
    rf"(?:bucket_rr:({_NUMBER}):([0-9]{{1,4}})"
    rf"|geo_laplace:({_NUMBER}):([0-9]{{1,4}}):({_NUMBER}):({_NUMBER}))"
    r"@(2[0-9]{3}-(?:0[1-9]|1[0-2]))@([0-9a-f]{32})@([!-?A-~]{1,300})(?:@([!-?A-~]{1,4000}))?"
)
_LIMIT = "what `askew ask` wrote: TERMS@END@SPACE@SERVER, such as bucket_rr:4:20@2027-10@..."


@dataclass(frozen=True)
class Consent:
    """The terms of a signal, the most that it may cost between any two people and for one rating,
    whose question it may be, and the last month of it.
    """

    mechanism: str
    epsilon: Fraction
    k: int
    between_any_two: Fraction
    one_rating: Fraction
    end: str
    space_version: str
    server: str
    authority: str = ""

    @classmethod
    def parsed(cls, text: str) -> Self:
        """The consent that a text says. Raises ParameterError for any other text."""
        found = _FORM.fullmatch(text)
        if found is None:
            raise ParameterError("consent", text, _LIMIT)
        end, space, server, authority = found.groups()[6:]
        addressee = (end, space, server, unquote(authority or ""))
        if found[1]:
            epsilon = Fraction(found[1])
            return cls("bucket_rr", epsilon, int(found[2]), epsilon, epsilon, *addressee)
        bounds = (Fraction(found[5]), Fraction(found[6]))
        return cls("geo_laplace", Fraction(found[3]), int(found[4]), *bounds, *addressee)

    def __str__(self) -> str:
        """The text that `parsed` reads; the two bounds in thousandths, rounded up."""
        terms = f"{self.mechanism}:{self.epsilon}:{self.k}"
        if self.mechanism != "bucket_rr":
            bounds = (self.between_any_two, self.one_rating)
            terms = ":".join([terms, *(f"{ceil(1000 * each) / 1000:.12g}" for each in bounds)])
        authority = [quote(self.authority, safe="/")] if self.authority else []
        return "@".join([terms, self.end, self.space_version, self.server, *authority])

    @property
    def words(self) -> str:
        """What it allows, for the person."""
        vouched = f" (vouched for by {self.authority})" if self.authority else ""
        return (
            f"{self.server}{vouched}, space {self.space_version[:8]}, until {self.end}: a signal "
            f"of at most {float(self.between_any_two):g} between any two people and "
            f"{float(self.one_rating):g} for one rating ({self.mechanism}, k {self.k})"
        )

    def is_of(self, other: Consent) -> bool:
        """Whether both are to one server and one space."""
        mine = self.server, self.authority, self.space_version
        return mine == (other.server, other.authority, other.space_version)


def consents_of(text: object) -> tuple[Consent, ...]:
    """The consents of a setting. Raises ParameterError for any other text."""
    if not isinstance(text, str):
        raise ParameterError("consent", text, _LIMIT)
    return tuple(map(Consent.parsed, text.split()))


def with_consent(text: str, given: str) -> str:
    """A setting with one more consent, in place of an older one to the same server and space."""
    new = Consent.parsed(given)
    kept = [each for each in consents_of(text) if not each.is_of(new)]
    return " ".join(map(str, (*kept, new)))


def without_consent(text: str, withdrawn: Consent) -> str:
    """A setting without one of its consents."""
    return " ".join(str(each) for each in consents_of(text) if each != withdrawn)


def end_of(month: str) -> str:
    """The last month of a consent that is given in this one."""
    year, number = (int(part) for part in month.split("-"))
    year, number = divmod(12 * year + number - 1 + MONTHS - 1, 12)
    return f"{year}-{number + 1:02}"

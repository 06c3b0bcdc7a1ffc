"""Preferences as a person types them on one line: "open, kind = bakery | café, price <= 10".

open              open now
kind = a | b      only these kinds
price <= 10       at most this number
kind: a +2        a is worth being 2 km nearer; -2, farther
"""

from __future__ import annotations

import re
from typing import Final

from askew.errors import PreferenceError
from askew_client.near.preferences import Preferences

EXAMPLE: Final = "open, kind = bakery | café, price <= 10, kind: curry house +2"
_ONLY = re.compile(r"([^=<:]+)=([^=<:]+)")
_AT_MOST = re.compile(r"([^=<:]+)<=?\s*(\d+(?:\.\d+)?)")
_LIKED = re.compile(r"([^=<:]+):(.+?)\s([+-]\d+(?:\.\d+)?)(?:\s*km)?")


def preferences_of(line: str) -> Preferences:
    """The preferences of a line; none for an empty one. Raises PreferenceError, which repeats
    nothing.
    """
    likes: dict[str, dict[str, float]] = {}
    only: dict[str, frozenset[str]] = {}
    at_most: dict[str, float] = {}
    open_now = False
    for wish in filter(None, (each.strip() for each in line.split(","))):
        if wish.casefold() in ("open", "open now"):
            open_now = True
        elif found := _ONLY.fullmatch(wish):
            only[found[1].strip()] = frozenset(each.strip() for each in found[2].split("|"))
        elif found := _AT_MOST.fullmatch(wish):
            at_most[found[1].strip()] = float(found[2])
        elif found := _LIKED.fullmatch(wish):
            likes.setdefault(found[1].strip(), {})[found[2].strip()] = float(found[3])
        else:
            raise PreferenceError(f"this is no preference; preferences read like: {EXAMPLE}")
    return Preferences(likes, only, at_most, open_now)

"""Keys of titles as people write them: titles with the same key are looked up as one."""

from __future__ import annotations

import re
import unicodedata

from askew.limits import JOINERS

# "Avventura, L' (1960)", "City of Lost Children, The (Cité des enfants perdus, La) (1995)"
_ARTICLE_AT_THE_END = re.compile(
    r"([^(]+), (the|an?|l[aeo]s?|l'|il|el|der|die|das|den|det|une?|una)( \(.*)?"
)
_ARTICLE_AT_THE_START = re.compile(r"^(the|an?) (?=[^(])")


def title_key(text: str) -> str:
    """Return the key of a title: lower case, no accents, the article first: "the miserables
    (1998)" for "Misérables, The (1998)".
    """
    plain = " ".join(plain_text(text).split())
    turned = _ARTICLE_AT_THE_END.fullmatch(plain)
    if turned is None:
        return plain
    name, article, rest = turned.groups(default="")
    joint = "" if article.endswith("'") else " "
    return f"{article}{joint}{name}{rest}"


def without_article(key: str) -> str:
    """Return the key without "the ", "a " or "an " before it; else, and before "(", as it is."""
    return _ARTICLE_AT_THE_START.sub("", key)


def plain_text(text: str) -> str:
    """Return text in lower case without accents and joiners, so that "amelie" finds "Amélie".
    O(length) where few combining marks are in a row, as `askew.limits.check_marks` has it.
    """
    folded = text.casefold()
    if folded.isascii():  # nothing to take apart: most titles, of which there may be a million
        return folded
    decomposed = unicodedata.normalize("NFKD", folded)
    return "".join(c for c in decomposed if not unicodedata.combining(c) and c not in JOINERS)

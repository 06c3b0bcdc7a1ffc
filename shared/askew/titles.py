"""Titles as people write them, and the items of a catalog that they name.

A device looks the titles of its person up, a server those of a public release.
"""

from __future__ import annotations

import re
import unicodedata

from askew.model_card import Catalog

# "Avventura, L' (1960)", "City of Lost Children, The (Cité des enfants perdus, La) (1995)"
_ARTICLE_AT_THE_END = re.compile(
    r"([^(]+), (the|an?|l[aeo]s?|l'|il|el|der|die|das|den|det|une?|una)( \(.*)?"
)
_ARTICLE_AT_THE_START = re.compile(r"^(the|an?) (?=[^(])")


def title_key(text: str) -> str:
    """What a title is found by: "Misérables, The (1998)" and "the miserables (1998)" are one."""
    plain = " ".join(plain_text(text).split())
    turned = _ARTICLE_AT_THE_END.fullmatch(plain)
    if turned is None:
        return plain
    name, article, rest = turned.groups(default="")
    joint = "" if article.endswith("'") else " "
    return f"{article}{joint}{name}{rest}"


class TitleIndex:
    """The items of a catalog by `title_key` of what people type: a label, or a title that is clear
    alone; an English article too many or too few is no matter where that is clear as well.
    """

    def __init__(self, catalog: Catalog) -> None:
        """Of two items with one label the lower id counts."""
        titles: dict[str, int | None] = {}
        labels: dict[str, int | None] = {}
        self._without_article: dict[str, int | None] = {}
        for number, item in enumerate(catalog.items):
            title, label = title_key(item.title), title_key(item.label)
            titles[title] = None if title in titles else number
            labels.setdefault(label, number)
            for bare in {_without_article(title), _without_article(label)}:
                same = self._without_article.setdefault(bare, number) == number
                self._without_article[bare] = number if same else None
        self._found = titles | labels

    def get(self, key: str) -> int | None:
        """The item of a key, or None."""
        found = self._found.get(key)
        return self._without_article.get(_without_article(key)) if found is None else found

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None


def _without_article(key: str) -> str:
    return _ARTICLE_AT_THE_START.sub("", key)


def plain_text(text: str) -> str:
    """Lower case without accents, so that "amelie" finds "Amélie"."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in decomposed if not unicodedata.combining(each))

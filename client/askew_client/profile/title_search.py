"""Search in a catalog by the words of a title. On the device: no search is ever sent."""

from __future__ import annotations

import re
import unicodedata

from askew.model_card import Catalog
from askew_client.views.values import Title


def title_key(text: str) -> str:
    """What a title is found by: "Matrix, The (1999)" and "the matrix (1999)" are one."""
    plain = " ".join(text.casefold().split())
    return re.sub(r"^(.*), (the|an?)( \(\d+\))?$", r"\2 \1\3", plain)


class TitleSearch:
    """The titles of one catalog, ready to be searched with every key press."""

    def __init__(self, catalog: Catalog) -> None:
        self.titles = tuple(Title(i.label, i.title, i.genres) for i in catalog.items)
        self._plain = tuple(_plain(title.label) for title in self.titles)

    def find(self, text: str, limit: int) -> tuple[Title, ...]:
        """Titles that contain every word of `text`; those that begin with it come first."""
        wanted = _plain(text).strip()
        words = wanted.split()
        found = [at for at, label in enumerate(self._plain) if all(w in label for w in words)]
        found.sort(key=lambda at: not self._plain[at].startswith(wanted))  # stable
        return tuple(self.titles[at] for at in found[:limit])


def _plain(text: str) -> str:
    """Lower case without accents, so that "amelie" finds "Amélie"."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in decomposed if not unicodedata.combining(each))

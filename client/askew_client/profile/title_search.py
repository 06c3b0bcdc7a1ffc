"""Search in a catalog by the words of a title. On the device: no search is ever sent."""

from __future__ import annotations

from askew.model_card import Catalog
from askew.titles import plain_text
from askew_client.views.values import Title


class TitleSearch:
    """The titles of one catalog, ready to be searched with every key press."""

    def __init__(self, catalog: Catalog) -> None:
        self.titles = tuple(Title(i.label, i.title, i.genres) for i in catalog.items)
        self._plain = tuple(plain_text(title.label) for title in self.titles)

    def find(self, text: str, limit: int) -> tuple[Title, ...]:
        """Titles that contain every word of `text`; those that begin with it come first."""
        wanted = plain_text(text).strip()
        words = [word.rstrip(",") for word in wanted.split()]  # "Usual Suspects, The" is typed too
        found = [at for at, label in enumerate(self._plain) if all(w in label for w in words)]
        found.sort(key=lambda at: not self._plain[at].startswith(wanted))  # stable
        return tuple(self.titles[at] for at in found[:limit])

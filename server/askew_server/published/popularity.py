"""A published release as the retrieval server's popularity prior: what it shows on a cold start.

It reads a release, which is public, and a catalog, which is public: no events, key or counts. Only
the order of the zero-information slate changes, so `catalog_version` does and `space_version` does
not: no device has to draw or pay again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from askew.model_card import Catalog, Item, ModelCard
from askew.release import Release


def with_popularity(
    card: ModelCard, catalog: Catalog, release: Release
) -> tuple[ModelCard, Catalog, int]:
    """The catalog with the release's items first in its shared slate, its card, and how many items
    of the release it does not have.

    An item matches by its label, "Alien (1979)", or its title, where no other item has that name.
    The items of the former slate fill it up to the length that it had. The card's source names the
    release, so that a device can say what it shows before anything is rated.
    """
    places = _places(catalog)
    found = [places[name] for name in release.items if name in places]
    popular = dict.fromkeys(found)
    rest = [item for item in catalog.shared_slate if item not in popular]
    slate = (*popular, *rest)[: len(catalog.shared_slate)]
    popular_first = replace(catalog, shared_slate=slate)
    source = f"{card.source}; newcomers see release {release.charge} of {release.dataset} first"
    served = replace(card, catalog_version=popular_first.version, source=source)
    return served, popular_first, len(release.items) - len(found)


def _places(catalog: Catalog) -> dict[str, int]:
    """Item ids by every name that means one item only."""
    named = [(name, id_) for id_, item in enumerate(catalog.items) for name in _names(item)]
    times = Counter(name for name, _ in named)
    return {name: id_ for name, id_ in named if times[name] == 1}


def _names(item: Item) -> set[str]:
    return {item.title, item.label}

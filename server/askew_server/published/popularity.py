"""A published release as the retrieval server's popularity prior: what it shows on a cold start.

It reads a release, which is public, and a catalog, which is public: no events, key or counts. Only
the order of the zero-information slate changes, so `catalog_version` does and `space_version` does
not: no device has to draw or pay again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from askew.catalog.catalog import Catalog
from askew.catalog.item import title_key
from askew.catalog.titles import TitleIndex
from askew.dp.release import Release
from askew.protocol.cards import ModelCard


def with_popularity(
    card: ModelCard, catalog: Catalog, release: Release
) -> tuple[ModelCard, Catalog, int]:
    """Return the card, the catalog with the release's items first in its shared slate, and how many
    items of the release match none of the catalog.

    An item matches by its label, "Alien (1979)", or its title, where no other item has that name;
    articles, case and accents do not matter (`askew.catalog.titles`). Default items are left out:
    every device has them. The items of the former slate fill it up to the length that it had. The
    card's source names the release, so that a device can say what it shows before anything is
    rated.
    """
    index, labels = (
        TitleIndex(catalog.items),
        Counter(title_key(item.label) for item in catalog.items),
    )
    clear = (key for key in map(title_key, release.items) if labels[key] < 2)
    matched = [item for item in map(index.get, clear) if item is not None]
    popular = dict.fromkeys(item for item in matched if item >= card.n_held)
    rest = [item for item in catalog.shared_slate if item not in popular]
    slate = (*popular, *rest)[: len(catalog.shared_slate)]
    popular_first = replace(catalog, shared_slate=slate)
    source = f"{card.source}; newcomers see release {release.charge} of {release.dataset} first"
    served = replace(card, catalog_version=popular_first.version, source=source)
    return served, popular_first, len(release.items) - len(matched)

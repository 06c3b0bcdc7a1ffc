"""Replies of items of tastes. What 4-bit codes say of them is in the file that devices hold, and is
taken from there; words are written for each reply.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from askew.model_card import Catalog, ModelCard
from askew.wire.held import codes_within
from askew.wire.slate_bytes import reply_of_parts


class SlateReplies:
    """For any number of threads; nothing is kept of a reply. whole: the file of all items."""

    def __init__(self, card: ModelCard, catalog: Catalog, whole: bytes) -> None:
        self._version, self._items = bytes.fromhex(card.catalog_version), catalog.items
        self._boosts, self._codes = codes_within(whole, card)

    def reply(self, items: Sequence[int], payloads: Sequence[bytes] = ()) -> bytes:
        """Some items of the catalog, ascending, and their payloads, if any, on the wire."""
        rows = np.array(items)
        return reply_of_parts(
            self._version,
            rows.astype("<u4").tobytes(),
            self._boosts[rows].tobytes(),
            self._codes[rows].tobytes(),
            [self._items[item] for item in items],
            payloads,
        )

"""What a catalog says of its items beside their vectors: words, and boosts by coarse likes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.item import MAX_GENRES, Item
from askew.item_codes import rounded_boosts
from askew.plain_text import has_few_marks, is_mark
from askew_server.ratings import ItemRow
from askew_server.training.disclosure import like_classes


def boosts_of(likes: csr_array, exponent: float) -> NDArray[np.float32]:
    """likes**-exponent of each item, (n_items,), its likes told as a coarse class."""
    boosts: NDArray[np.float64] = like_classes(likes.sum(axis=0)) ** -exponent
    return rounded_boosts(boosts.astype(np.float32))


def items_of(keys: tuple[str, ...], rows: Mapping[str, ItemRow]) -> tuple[Item, ...]:
    """What is publicly known of items by key; an item without a row is named by its key."""
    return tuple(_item(key, rows) for key in keys)


def _item(key: str, rows: Mapping[str, ItemRow]) -> Item:
    row = rows.get(key)
    if row is None:
        return Item(_plain(f"item {key}"))
    return Item(_plain(row.title), row.year or None, tuple(map(_plain, row.genres[:MAX_GENRES])))


def _plain(text: str) -> str:
    """Text that every device accepts: a no-break space becomes a space, a zero width one goes, and
    all combining marks go where too many are in a row.
    """
    shown = "".join(c for c in " ".join(text.split()) if c.isprintable()) or "?"
    return shown if has_few_marks(shown) else "".join(c for c in shown if not is_mark(c)) or "?"

"""Items that were met stand behind those that are held, as if all had been held."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from askew.catalog.catalog import Catalog
from askew.catalog.item import Item
from askew.catalog.joined_catalog import joined
from askew.catalog.packed_items import PackedItems
from askew.spaces.item_codes import encode, held_vectors, rounded, scales_of

HELD, MET, D = 7, 3, 5


def made() -> tuple[Catalog, Catalog]:
    """What is held as codes and what was met, joined; and the same made of all at once."""
    rng = np.random.default_rng(4)
    items = tuple(Item(f"Item {at}", 1900 + at, ("drama",) * (at % 2)) for at in range(HELD + MET))
    vectors = rng.normal(size=(HELD + MET, D)).astype(np.float32)
    scales = scales_of(vectors)
    plain = rounded(vectors, scales)
    boosts = rng.uniform(1, 2, HELD + MET).astype(np.float32)
    coded = held_vectors(encode(plain[:HELD], scales).tobytes(), scales, HELD)
    held = Catalog(PackedItems.of(items[:HELD]), coded, boosts[:HELD], (2, 0))
    met = Catalog(items[HELD:], plain[HELD:], boosts[HELD:], ())
    return joined(held, met), Catalog(items, plain, boosts, (2, 0))


def test_a_joined_catalog_is_the_whole_one() -> None:
    """Planted bugs: the boosts of what is held for what was met; others in front."""
    catalog, whole = made()
    assert len(catalog) == len(whole)
    assert [*catalog.items] == [*whole.items]
    assert [catalog.items[at] for at in range(-10, 10)] == [
        whole.items[at] for at in range(-10, 10)
    ]
    assert np.array_equal(np.asarray(catalog.vectors), whole.vectors)
    assert np.array_equal(np.asarray(catalog.scoring), whole.scoring)
    assert catalog.version == whole.version
    taste, directions = np.arange(1.0, D + 1), np.ones((D, 2), np.float32)
    assert np.allclose(catalog.vectors @ taste, whole.vectors @ taste, rtol=1e-12)
    assert np.allclose(catalog.scoring @ directions, whole.scoring @ directions, rtol=1e-5)


def test_any_rows_are_those_of_the_whole() -> None:
    """Planted bugs: rows in another order than asked for; a slice that ends where the held do."""
    catalog, whole = made()
    ends = range(HELD + MET + 1)
    slices = [slice(*each) for each in product(ends, ends, (1, 2, -1))]
    lists = [list(each) for count in range(3) for each in product(ends[:-1], repeat=count)]
    some: Any
    for some in (*slices, *lists, np.array([9, 0, 7])):
        rows = np.array(some, np.int64) if isinstance(some, list) else some
        assert np.array_equal(catalog.vectors[some], whole.vectors[rows])
        assert np.array_equal(catalog.scoring[some], whole.scoring[rows])
        if isinstance(some, slice):
            assert catalog.items[some] == whole.items[some]

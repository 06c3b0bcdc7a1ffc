"""What somebody forged, with digests that fit, is served only if devices accept it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.taste.model import artifact
from askew_server.taste.model.item_model import ItemModel

NAN, INF = float("nan"), float("inf")
SURROGATE = "\ud800"  # half a character, which JSON can spell and UTF-8 cannot

Fields = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


def arrays_of(model: ItemModel) -> Arrays:
    catalog = model.catalog
    return {
        "vectors": catalog.vectors.copy(),
        "boosts": catalog.boosts.copy(),
        "shared_slate": np.array(catalog.shared_slate, dtype=np.int64),
    }


def items_of(model: ItemModel) -> list[list[Any]]:
    pairs = zip(model.keys, model.catalog.items, strict=True)
    return [[key, item.title, item.year, list(item.genres)] for key, item in pairs]


def test_a_forgery_that_is_a_proper_model_is_loaded(
    directory: Path, model: ItemModel, forge: Callable[..., None]
) -> None:
    """Digests find damage. They are no signature, and the documentation says so. And where the
    forger changes nothing, it is the model: no refusal below is the forger's fault.
    """
    items = items_of(model)
    forge(directory, arrays=arrays_of(model), items=items)
    loaded = artifact.load(directory)
    assert (model.card, model.catalog.version) == (loaded.card, loaded.catalog.version)
    items[0][1] = "Another title"
    forge(directory, items=items, card=lambda card: setattr(card.space, "unit", 2.5))
    loaded = artifact.load(directory)
    expected = ("Another title", 2.5)
    assert expected == (loaded.catalog.items[0].title, loaded.card.space.encoder.unit)


# -- the manifest and the card ---------------------------------------------------------------------

FORGED_MANIFESTS: dict[str, tuple[str, object]] = {
    "training of another kind": ("training", [1, 2]),
    "a training parameter out of range": ("training.seed", -1),
    "a negative number of people": ("counts.people", -1),
    "a number that is true": ("shapes.boosts", [True]),
    "a digest of one file only": ("files", {"items.json": {"sha256": "0" * 64}}),
    "a card that is not named": ("files", {}),
    "another kind": ("kind", "metric"),
    "a field more": ("more", 1),
}


@pytest.mark.parametrize(("path", "value"), FORGED_MANIFESTS.values(), ids=FORGED_MANIFESTS)
def test_a_forged_manifest_is_refused(
    directory: Path,
    path: str,
    value: object,
    forge: Callable[..., None],
    refusal: Callable[[Path], str],
) -> None:
    forge(directory, manifest={path: value})
    assert refusal(directory)


def fewer_factors(card: pb.GetModelCardResponse) -> None:
    space = card.space
    space.directions = space.directions[: len(space.directions) - 4 * (len(space.knots) // 33)]
    space.origin, space.scales = space.origin[:-4], space.scales[:-4]


def one_item_less(card: pb.GetModelCardResponse) -> None:
    card.n_items = card.n_default = 23
    card.max_slate_size = min(card.max_slate_size, 23)


UNKNOWN_FIELD = b"\xfa\x3e\x03abc"  # number 1007, as a card of another version may have one
FORGED_CARDS: dict[str, tuple[Callable[[pb.GetModelCardResponse], object], str]] = {
    "a clip of zero": (lambda c: setattr(c.space, "clip", 0.0), "clip"),
    "an escape sequence": (lambda c: setattr(c, "source", "\x1b[2J"), "the source of a model"),
    "collections": (lambda c: c.metric_space.region.SetInParent(), "collections of places"),
    "another catalog": (lambda c: setattr(c, "catalog_version", bytes(16)), "not the one"),
    "an item more": (lambda c: setattr(c, "n_items", 25), "not the one"),
    "an item less": (one_item_less, "not the one"),
    "an unknown field": (lambda c: c.MergeFromString(UNKNOWN_FIELD), "says more, or less"),
    "a field of the other kind": (lambda c: c.collections.add(name="x"), "says more, or less"),
    "other factors": (fewer_factors, "another ranking dimension"),
}


@pytest.mark.parametrize(("change", "words"), FORGED_CARDS.values(), ids=FORGED_CARDS)
def test_a_forged_card_is_refused(
    directory: Path,
    change: Callable[[pb.GetModelCardResponse], object],
    words: str,
    forge: Callable[..., None],
    refusal: Callable[[Path], str],
) -> None:
    """What no device would accept is not served: the operator hears of it, not each device."""
    forge(directory, card=change)
    assert words in refusal(directory)


# -- the arrays ------------------------------------------------------------------------------------


def changed(**arrays: NDArray[Any] | None) -> Callable[[Arrays], Arrays]:
    """A change that sets arrays, or takes those away that are None."""

    def change(original: Arrays) -> Arrays:
        merged = {**original, **arrays}
        return {name: array for name, array in merged.items() if array is not None}

    return change


def with_number(name: str, value: float) -> Callable[[Arrays], Arrays]:
    def change(arrays: Arrays) -> Arrays:
        arrays[name].ravel()[5] = value
        return arrays

    return change


FORGED_ARRAYS: dict[str, Callable[[Arrays], Arrays | bytes]] = {
    "a pickle": lambda _: (
        b"\x80\x04\x95\x1d\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x8c\x06system\x93."
    ),
    **{
        f"{value:g} in {name}": with_number(name, value)
        for name in ("vectors", "boosts")
        for value in (NAN, INF, 1e30)
    },
    "a boost of nothing": with_number("boosts", 0.0),
    "float64 vectors": lambda a: {**a, "vectors": a["vectors"].astype(np.float64)},
    "an item too few": lambda a: {**a, "vectors": a["vectors"][:-1].copy()},
    "a coordinate too many": lambda a: {**a, "vectors": np.hstack([a["vectors"]] * 2)},
    "vectors left out": changed(vectors=None),
    "a boost too few": lambda a: {**a, "boosts": a["boosts"][:-1].copy()},
    "an array of another name": changed(more=np.zeros(1, np.float32)),
    "the shared slate left out": changed(shared_slate=None),
    "vectors that codes cannot say": changed(vectors=np.full((24, 4), 0.013, np.float32)),
    "an item twice in the shared slate": changed(shared_slate=np.array([1, 1])),
    "an item beyond the catalog": changed(shared_slate=np.array([24])),
    "a shared slate of fractions": changed(shared_slate=np.array([1.5, 2.5])),
}


@pytest.mark.parametrize("change", FORGED_ARRAYS.values(), ids=FORGED_ARRAYS)
def test_forged_arrays_are_refused(
    directory: Path,
    model: ItemModel,
    change: Callable[[Arrays], Arrays | bytes],
    forge: Callable[..., None],
    refusal: Callable[[Path], str],
) -> None:
    forge(directory, arrays=change(arrays_of(model)))
    assert refusal(directory)


def test_shapes_that_differ_from_the_manifest_are_refused(
    directory: Path, model: ItemModel, forge: Callable[..., None], refusal: Callable[[Path], str]
) -> None:
    forge(directory, arrays=arrays_of(model), manifest={"shapes.vectors": [24, 3]})
    assert "does not have the shapes that its manifest names" in refusal(directory)


# -- the items -------------------------------------------------------------------------------------

FORGED_ITEMS: dict[str, object] = {
    "a title too long": ["key 0", "x" * 501, 1999, []],
    "a title with an escape sequence": ["key 0", "\x1b[2J", 1999, []],
    "a title with half a character": ["key 0", SURROGATE, 1999, []],
    "a year that is text": ["key 0", "Alien", "1979", []],
    "a year of zero": ["key 0", "Alien", 0, []],
    "a year beyond 32 bits": ["key 0", "Alien", 2**32, []],
    "a genre with an escape sequence": ["key 0", "Alien", 1979, ["\x1b[2J"]],
    "a field too many": ["key 0", "Alien", 1979, [], 5],
    "a key that another item has": ["key 1", "Alien", 1979, []],
}


@pytest.mark.parametrize("item", FORGED_ITEMS.values(), ids=FORGED_ITEMS)
def test_a_forged_item_is_refused(
    directory: Path,
    model: ItemModel,
    item: object,
    forge: Callable[..., None],
    refusal: Callable[[Path], str],
) -> None:
    """Every digest and version fits, so that only the item itself can be refused."""
    forge(directory, items=[item, *items_of(model)[1:]])
    assert refusal(directory)


@pytest.mark.parametrize("items", ["{}", [], [[]]])
def test_forged_items_of_another_structure_are_refused(
    directory: Path, items: object, forge: Callable[..., None], refusal: Callable[[Path], str]
) -> None:
    forge(directory, items=items)
    assert refusal(directory)

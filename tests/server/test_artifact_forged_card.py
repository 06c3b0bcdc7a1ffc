"""A card that somebody forged, with digests that fit, is served only if devices accept it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

NAN, INF = float("nan"), float("inf")
FILES = ("card.json", "arrays.safetensors", "items.json")

TOP_FIELDS = (
    "space_version",
    "catalog_version",
    "source",
    "simulated",
    "max_slate_size",
    "shapes",
    "space",
    "training",
    "files",
)


@pytest.mark.parametrize("name", TOP_FIELDS)
def test_a_forged_card_without_a_field_is_refused(
    directory: Path, name: str, forge: Callable[..., None], refusal: Callable[[Path], str]
) -> None:
    forge(directory, without=name)
    assert name in refusal(directory)


@pytest.mark.parametrize("value", [None, 5, "text", [], [1, 2]], ids=repr)
@pytest.mark.parametrize("name", ["shapes", "space", "training", "files"])
def test_a_forged_card_with_a_field_of_another_kind_is_refused(
    directory: Path,
    name: str,
    value: object,
    forge: Callable[..., None],
    refusal: Callable[[Path], str],
) -> None:
    forge(directory, card={name: value})
    assert refusal(directory)


FORGED_CARDS: dict[str, tuple[str, object]] = {
    "a NaN bound": ("space.lower", [NAN, -1.0]),
    "an infinite bound": ("space.upper", [INF, 1.0]),
    "reversed bounds": ("space.lower", [60.0, 60.0]),
    "a bound too many": ("space.lower", [-1.0, -1.0, -1.0]),
    "no bounds": ("space.lower", []),
    "bounds that are text": ("space.lower", "ab"),
    "bounds that are lists": ("space.lower", [[-1.0], [-1.0]]),
    "a gain of zero": ("space.gain", 0),
    "a NaN gain": ("space.gain", NAN),
    "a gain that is text": ("space.gain", "big"),
    "a gain beyond any float": ("space.gain", 10**400),
    "a rating scale of three": ("space.rating_scale", [1, 2, 3]),
    "a reversed rating scale": ("space.rating_scale", [5, 1]),
    "a metric of another kind": ("space.metric", "l2"),
    "a metric that is a list": ("space.metric", ["l1"]),
    "a basis that is no digest": ("space.basis", "not hexadecimal"),
    "a basis too short": ("space.basis", "ab"),
    "a basis that is a number": ("space.basis", 7),
    "a largest slate of zero": ("max_slate_size", 0),
    "a largest slate beyond the catalog": ("max_slate_size", 25),
    "a largest slate of infinity": ("max_slate_size", INF),
    "a largest slate of NaN": ("max_slate_size", NAN),
    "a largest slate that is a fraction": ("max_slate_size", 1.5),
    "a largest slate beyond any float": ("max_slate_size", 10**400),
    "a source with an escape sequence": ("source", "\x1b[2J"),
    "a source that is a list": ("source", ["ratings"]),
    "a source too long": ("source", "x" * 501),
    "simulated, as a word": ("simulated", "false"),
    "simulated, as null": ("simulated", None),
    "another space version": ("space_version", "0" * 32),
    "another catalog version": ("catalog_version", "0" * 32),
    "a digest of one file only": ("files", {"items.json": {"sha256": "0" * 64}}),
    "digests that are numbers": ("files", dict.fromkeys(FILES, 5)),
    "a largest slate that is text": ("max_slate_size", "5"),
    "a largest slate that is true": ("max_slate_size", True),
    "a training parameter that is a list": ("training.seed", [1]),
}


@pytest.mark.parametrize(("path", "value"), FORGED_CARDS.values(), ids=FORGED_CARDS)
def test_a_forged_card_of_bad_values_is_refused(
    directory: Path,
    path: str,
    value: object,
    forge: Callable[..., None],
    refusal: Callable[[Path], str],
) -> None:
    """What no device would accept is not served: the operator hears of it, not each device."""
    forge(directory, card={path: value})
    assert refusal(directory)


def test_a_space_of_another_dimension_than_the_catalog_is_refused(
    directory: Path, forge: Callable[..., None], refusal: Callable[[Path], str]
) -> None:
    forge(directory, card={"space.lower": [-1.0], "space.upper": [1.0]})
    assert "another dimension than the space" in refusal(directory)

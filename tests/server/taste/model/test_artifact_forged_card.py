"""A card that somebody forged, with digests that fit, is served only if devices accept it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load as decode

NAN, INF = float("nan"), float("inf")
FILES = ("card.json", "arrays.safetensors", "items.json")

TOP_FIELDS = ("space_version", "simulated", "rule", "counts", "files")


@pytest.mark.parametrize("name", TOP_FIELDS)
def test_a_forged_card_without_a_field_is_refused(
    directory: Path, name: str, forge: Callable[..., None], refusal: Callable[[Path], str]
) -> None:
    forge(directory, without=name)
    assert name in refusal(directory)


@pytest.mark.parametrize("value", [None, "text", [1, 2]], ids=repr)
@pytest.mark.parametrize("name", ["rule", "training"])
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
    "a clip of zero": ("space.clip", 0),
    "a NaN clip": ("space.clip", NAN),
    "least likes of zero": ("space.least_likes", 0),
    "a unit of zero": ("space.unit", 0),
    "a unit of too many digits": ("space.unit", 1.1),
    "a NaN unit": ("space.unit", NAN),
    "a reversed rating scale": ("space.rating_scale", [5, 1, 4]),
    "a rating scale without likes": ("space.rating_scale", [1, 5, 6]),
    "a metric of another kind": ("space.metric", "l2"),
    "a rule of another name": ("rule.kind", "guess"),
    "a rule for no epsilon": ("rule.epsilon", 0),
    "a rule for a NaN": ("rule.epsilon", NAN),
    "a rule for no results": ("rule.k", 0),
    "a prior with an escape sequence": ("rule.prior", "\x1b[2J"),
    "a largest slate of zero": ("max_slate_size", 0),
    "a largest slate beyond the catalog": ("max_slate_size", 25),
    "a source with an escape sequence": ("source", "\x1b[2J"),
    "a source too long": ("source", "x" * 501),
    "another space version": ("space_version", "0" * 32),
    "another catalog version": ("catalog_version", "0" * 32),
    "a digest of one file only": ("files", {"items.json": {"sha256": "0" * 64}}),
    "a largest slate that is true": ("max_slate_size", True),
    "a training parameter out of range": ("training.seed", -1),
    "a negative number of people": ("counts.people", -1),
    "a guarantee for everybody": ("guarantee_covers", "everybody"),
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


def test_half_a_set_of_buckets_is_refused(
    directory: Path, forge: Callable[..., None], refusal: Callable[[Path], str]
) -> None:
    arrays = decode((directory / "arrays.safetensors").read_bytes())
    forge(directory, arrays={**arrays, "bucket_biases": np.zeros(4, np.float32)})
    assert "buckets need directions and biases" in refusal(directory)


def test_a_space_of_other_factors_than_the_catalog_is_refused(
    directory: Path, forge: Callable[..., None], refusal: Callable[[Path], str]
) -> None:
    arrays = decode((directory / "arrays.safetensors").read_bytes())
    fewer = {name: arrays[name][:-1].copy() for name in ("directions", "origin", "scales")}
    forge(directory, arrays={**arrays, **fewer})
    assert "another ranking dimension than the space" in refusal(directory)

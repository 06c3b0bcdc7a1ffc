"""What slates mean on the wire: a kilobyte, from which nothing hostile can be made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from small_world import made_encoder, made_space

from askew.errors import Malformed, OutOfRange
from askew.spaces.buckets import SlateCodebook
from askew.spaces.item_codes import rounded, rounded_boosts
from askew.spaces.vectors import FeatureSpace
from askew.wire.tastes import space_from_message, space_to_message
from askew.wire.v1 import retrieval_pb2 as pb


def space_of(slates: int, k: int, dimension: int) -> FeatureSpace:
    """A space with slates of chance, as codes say them."""
    rng = np.random.default_rng([slates, k, dimension])
    space = made_space(made_encoder(d=1, ranking=dimension))
    vectors = rng.normal(size=(slates, k, dimension)).astype(np.float32)
    boosts = rng.uniform(0.1, 2, size=(slates, k)).astype(np.float32)
    codebook = SlateCodebook(rounded(vectors, space.scales), rounded_boosts(boosts))
    return replace(space, buckets=codebook)


@pytest.mark.parametrize(("slates", "k", "dimension"), [(2, 1, 1), (8, 5, 32), (3, 2, 7)])
def test_slates_survive_the_wire(slates: int, k: int, dimension: int) -> None:
    space = space_of(slates, k, dimension)
    received = space_from_message(space_to_message(space))
    assert received == space
    assert isinstance(received.buckets, SlateCodebook)
    assert isinstance(space.buckets, SlateCodebook)
    for array, sent in zip(received.buckets.arrays, space.buckets.arrays, strict=True):
        np.testing.assert_array_equal(array, sent, strict=True)


def test_eight_slates_of_five_items_in_32_dimensions_take_less_than_a_kilobyte() -> None:
    """Planted bug: vectors of 32-bit floats, which take 5 kB."""
    space = space_of(8, 5, 32)
    bare = space_to_message(replace(space, buckets=None)).ByteSize()
    # 16 bytes of codes and 1 of a boost an item, three tags, two lengths and the slates' size
    assert space_to_message(space).ByteSize() - bare == 40 * 17 + 5 + 5 < 1000


def test_vectors_that_codes_cannot_say_are_not_sent() -> None:
    space = space_of(2, 1, 1)
    other = SlateCodebook(np.full((2, 1, 1), 0.1, np.float32), np.ones((2, 1), np.float32))
    with pytest.raises(OutOfRange):
        space_to_message(replace(space, buckets=other))


HOSTILE: dict[str, tuple[dict[str, Any], type[Exception]]] = {
    "codes cut short": ({"slate_codes": bytes(15)}, Malformed),
    "codes of one item more": ({"slate_codes": bytes(17)}, Malformed),
    "no codes": ({"slate_codes": b""}, Malformed),
    "no boosts": ({"slate_boosts": b""}, Malformed),
    "a boost less": ({"slate_boosts": bytes(5)}, Malformed),
    "slates of no items": ({"slate_size": 0}, Malformed),
    "slates that are not whole": ({"slate_size": 4}, Malformed),
    "one slate": ({"slate_size": 6}, OutOfRange),
    "the largest slate": ({"slate_size": 2**32 - 1}, Malformed),
    "buckets as well": ({"bucket_biases": bytes(8), "bucket_directions": bytes(56)}, Malformed),
    "scales that are none": ({"scales": np.full(7, np.nan, "<f4").tobytes()}, OutOfRange),
    "infinite scales": ({"scales": np.full(7, np.inf, "<f4").tobytes()}, OutOfRange),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_slates_that_do_not_fit_together_are_refused(case: str) -> None:
    changes, error = HOSTILE[case]
    message = space_to_message(space_of(3, 2, 7))
    for name, value in changes.items():
        setattr(message, name, value)
    with pytest.raises(error):
        space_from_message(pb.FeatureSpace.FromString(message.SerializeToString()))

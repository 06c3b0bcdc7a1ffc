"""Any bytes at all to a map or to axes: they parse, or a WireError says why not."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire.metric_world import (
    AXES_CARD,
    AXES_CARD_BYTES,
    AXES_REQUEST_BYTES,
    CARD_BYTES,
    MAP_CARD,
    REPLY_BYTES,
    REQUEST_BYTES,
)

from askew.errors import WireError
from askew.wire.places import metric_card_from_bytes, metric_card_to_bytes, places_from_bytes
from askew.wire.queries import query_from_bytes, query_to_bytes
from askew.wire.v1 import retrieval_pb2 as pb

fuzz = settings(max_examples=200, derandomize=True, database=None, deadline=None)
PARSERS: dict[str, tuple[bytes, Callable[[bytes], object]]] = {
    "place": (REQUEST_BYTES, lambda data: query_from_bytes(data, MAP_CARD)),
    "axes": (AXES_REQUEST_BYTES, lambda data: query_from_bytes(data, AXES_CARD)),
    "reply": (REPLY_BYTES, lambda data: places_from_bytes(data, MAP_CARD, 3, "cafés")),
    "map card": (CARD_BYTES, metric_card_from_bytes),
    "axes card": (AXES_CARD_BYTES, metric_card_from_bytes),
}


@pytest.mark.parametrize("name", PARSERS)
@given(data=st.binary(max_size=300))
@fuzz
def test_arbitrary_bytes_parse_or_are_refused(name: str, data: bytes) -> None:
    with contextlib.suppress(WireError):
        PARSERS[name][1](data)


@pytest.mark.parametrize("name", PARSERS)
@given(
    edits=st.lists(
        st.tuples(st.integers(0, 400), st.integers(0, 3), st.binary(max_size=9)),
        min_size=1,
        max_size=4,
    )
)
@fuzz
def test_a_message_with_bytes_changed_parses_or_is_refused(
    name: str, edits: list[tuple[int, int, bytes]]
) -> None:
    data, parse = PARSERS[name]
    for place, removed, inserted in edits:
        start = place % (len(data) + 1)
        data = data[:start] + inserted + data[start + removed :]
    with contextlib.suppress(WireError):
        parse(data)


words = st.integers(0, 2**32 - 1)


@given(
    version=st.just(b"") | st.binary(min_size=15, max_size=17),
    noise=st.tuples(words | st.integers(0, 25), words | st.integers(0, 5000), words),
    k=words | st.integers(0, 7),
    values=st.lists(st.integers(-(2**31), 2**31 - 1) | st.integers(-9, 9), max_size=3),
    collection=st.text(max_size=5) | st.just("cafés"),
)
@fuzz
def test_a_question_of_any_numbers_parses_or_is_refused(
    *,
    version: bytes,
    noise: tuple[int, int, int],
    k: int,
    values: list[int],
    collection: str,
) -> None:
    exponent, rate, cosine = noise
    message = pb.RetrieveRequest(
        space_version=version,
        k=k,
        values=values,
        collection=collection,
        map=pb.MapNoise(step_exponent=exponent, inverse_rate=rate, cosine=cosine % 70_000),
    )
    data = message.SerializeToString()
    with contextlib.suppress(WireError):
        query = query_from_bytes(data, MAP_CARD)
        assert query_to_bytes(query) == data


axis = st.builds(
    pb.Axis,
    name=st.text(max_size=5),
    unit=st.text(max_size=5) | st.just("km"),
    low=st.floats(),
    high=st.floats(),
    scale=st.floats(),
)


@given(
    edges=st.tuples(*[st.floats() | st.floats(-180, 180)] * 4),
    axes=st.none() | st.lists(axis, max_size=4),
    n_items=words,
    k=words | st.integers(0, 7),
)
@fuzz
def test_a_card_of_any_numbers_parses_or_is_refused(
    edges: tuple[float, float, float, float], axes: list[pb.Axis] | None, n_items: int, k: int
) -> None:
    message = pb.GetModelCardResponse.FromString(CARD_BYTES)
    south, west, north, east = edges
    region = pb.Region(south=south, west=west, north=north, east=east)
    message.metric_space.region.CopyFrom(region)
    if axes is not None:
        message.metric_space.axes.CopyFrom(pb.Axes(axes=axes))
    message.collections[0].n_items, message.max_slate_size = n_items, k
    with contextlib.suppress(WireError):
        card = metric_card_from_bytes(message.SerializeToString())
        assert metric_card_from_bytes(metric_card_to_bytes(card)) == card


def test_these_worlds_are_proper() -> None:
    """Each message that is altered here and beside is accepted as it stands."""
    for data, parse in PARSERS.values():
        parse(data)

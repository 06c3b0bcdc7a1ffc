"""Any bytes at all, from nothing to nearly right: they parse, or a WireError says why not."""

from __future__ import annotations

import contextlib
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire.messages import SENT
from wire.metric_world import AXES_CARD, CARD_BYTES, MAP_CARD
from wire.taste_world import CARD

from askew.errors import WireError
from askew.protocol.model_card import Card
from askew.wire.catalog_file import catalog_from_body
from askew.wire.places import metric_card_from_bytes, metric_card_to_bytes
from askew.wire.queries import query_from_bytes, query_to_bytes
from askew.wire.tastes import card_from_bytes, card_to_message, slate_from_bytes
from askew.wire.v1 import retrieval_pb2 as pb

K = 3
# The same examples on every run.
fuzz = settings(max_examples=200, derandomize=True, database=None, deadline=None)


@pytest.mark.parametrize("name", SENT)
def test_these_messages_are_proper(name: str) -> None:
    """Each message that is altered here and beside is accepted as it stands."""
    SENT[name].parse(SENT[name].data)


@pytest.mark.thin
@pytest.mark.parametrize("name", SENT)
@given(data=st.binary(max_size=300))
@fuzz
def test_arbitrary_bytes_parse_or_are_refused(name: str, data: bytes) -> None:
    with contextlib.suppress(WireError):
        SENT[name].parse(data)


@pytest.mark.thin
@pytest.mark.parametrize("name", SENT)
@given(
    edits=st.lists(
        st.tuples(st.integers(0, 900), st.integers(0, 3), st.binary(max_size=9)),
        min_size=1,
        max_size=4,
    )
)
@fuzz
def test_a_message_with_bytes_changed_parses_or_is_refused(
    name: str, edits: list[tuple[int, int, bytes]]
) -> None:
    data = SENT[name].data
    for place, removed, inserted in edits:
        start = place % (len(data) + 1)
        data = data[:start] + inserted + data[start + removed :]
    with contextlib.suppress(WireError):
        SENT[name].parse(data)


words = st.integers(0, 2**32 - 1)
versions = st.binary(min_size=15, max_size=17)
texts = st.text(max_size=20)
lattices = st.builds(
    pb.LatticeNoise,
    step_exponent=words | st.integers(0, 25),
    inverse_rate=words | st.integers(0, 5000),
)
maps = st.builds(
    pb.MapNoise,
    step_exponent=words | st.integers(0, 25),
    inverse_rate=words | st.integers(0, 5000),
    cosine=words | st.integers(0, 70_000),
)


@pytest.mark.parametrize("card", [CARD, MAP_CARD, AXES_CARD], ids=["tastes", "map", "axes"])
@given(
    collection=words | st.sampled_from([0, 2, 7, 256]) | st.none(),
    noise=lattices | maps | st.none(),
    k=words | st.integers(0, 7),
    values=st.lists(st.integers(-(2**31), 2**31 - 1) | st.integers(-9, 9), max_size=3),
    catalog_date=words | st.sampled_from([0, 4]),
    holds_rows=st.booleans(),
)
@fuzz
def test_a_question_of_any_numbers_parses_or_is_refused(
    card: Card, noise: pb.LatticeNoise | pb.MapNoise | None, **fields: Any
) -> None:
    message = pb.RetrieveRequest(**fields)
    if isinstance(noise, pb.MapNoise):
        message.map.CopyFrom(noise)
    elif noise is not None:
        message.lattice.CopyFrom(noise)
    data = message.SerializeToString()
    with contextlib.suppress(WireError):
        query = query_from_bytes(data, card)
        assert query_to_bytes(query) == data


numbers = st.lists(st.floats(width=32), max_size=6).map(
    lambda values: np.array(values, dtype="<f4").tobytes()
)
KNOTS = 33


@pytest.mark.slow
@given(
    space=st.builds(
        pb.FeatureSpace,
        lowest_rating=st.floats() | st.just(1.0),
        highest_rating=st.floats() | st.just(5.0),
        like_from=st.floats() | st.just(4.0),
        knots=st.lists(st.floats(), max_size=3)
        | st.lists(st.floats(-9, 9), min_size=KNOTS, max_size=KNOTS, unique=True).map(sorted),
        directions=numbers | st.just(bytes(4)),
        origin=numbers | st.just(bytes(4)),
        clip=st.floats() | st.just(1.0),
        least_likes=words | st.integers(0, 30),
        unit=st.floats() | st.just(1.5),
        scales=numbers | st.just(np.ones(1, "<f4").tobytes()),
    ),
    version=versions | st.just(bytes(16)),
    n_items=words | st.integers(0, 10),
    max_slate_size=words | st.integers(0, 10),
    source=texts,
)
@fuzz
def test_a_card_of_any_numbers_parses_or_is_refused(
    space: pb.FeatureSpace,
    version: bytes,
    n_items: int,
    max_slate_size: int,
    source: str,
) -> None:
    message = pb.GetModelCardResponse(
        space=space,
        catalog_version=version,
        n_items=n_items,
        max_slate_size=max_slate_size,
        source=source,
    )
    with contextlib.suppress(WireError):
        assert source == card_from_bytes(message.SerializeToString()).source


item_words = st.builds(
    pb.ItemWords,
    titles=texts | st.just("A"),
    years=st.lists(words, max_size=2) | st.just([1]),
    lists=st.lists(st.builds(pb.Genres, names=st.lists(texts, max_size=2)), max_size=2),
    genres=st.lists(words | st.integers(0, 1), max_size=2) | st.just([0]),
)


@given(
    unpacked=item_words,
    boosts=st.binary(max_size=2),
    codes=st.binary(max_size=4),
    shared_slate=st.lists(words | st.integers(0, 5), max_size=4),
)
@fuzz
def test_a_held_file_of_anything_parses_or_is_refused(
    unpacked: pb.ItemWords, boosts: bytes, codes: bytes, shared_slate: list[int]
) -> None:
    one = replace(CARD, n_items=1, max_slate_size=1, n_default=1)
    message = pb.CatalogFile(
        card=card_to_message(one),
        words=zlib.compress(unpacked.SerializeToString()),
        boosts=boosts,
        codes=codes,
        shared_slate=shared_slate,
    )
    with contextlib.suppress(WireError):
        catalog_from_body(message.SerializeToString())


@given(
    boosts=st.binary(max_size=4),
    codes=st.binary(max_size=7),
    ids=st.lists(words | st.integers(0, 5)) | st.just([0, 1, 2]),
    titles=st.lists(texts, min_size=K, max_size=K),
)
@fuzz
def test_a_reply_of_anything_is_finite_or_refused(
    boosts: bytes,
    codes: bytes,
    ids: list[int],
    titles: list[str],
) -> None:
    message = pb.RetrieveResponse(
        catalog_version=bytes.fromhex(CARD.catalog_version),
        item_ids=ids,
        boosts=boosts,
        codes=codes,
        items=[pb.Item(title=title) for title in titles],
    )
    with contextlib.suppress(WireError):
        slate = slate_from_bytes(message.SerializeToString(), CARD, K)
        assert np.isfinite(slate.scoring).all()


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
def test_a_metric_card_of_any_numbers_parses_or_is_refused(
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

"""Any bytes at all, from nothing to nearly right: they parse, or a WireError says why not."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askew.errors import WireError
from askew.model_card import ModelCard
from askew.wire import convert
from askew.wire.v1 import retrieval_pb2 as pb

K = 3
Parser = Callable[[bytes, ModelCard], object]

PARSERS: dict[str, Parser] = {
    "query": convert.query_from_bytes,
    "slate": lambda data, card: convert.slate_from_bytes(data, card, K),
    "card": lambda data, _: convert.card_from_bytes(data),
    "catalog": lambda data, card: convert.catalog_from_chunks([data], card),
}
every_parser = pytest.mark.parametrize("name", PARSERS)
# The same examples on every run.
fuzz = settings(max_examples=200, derandomize=True, database=None, deadline=None)


@pytest.fixture(scope="module")
def valid(
    request_bytes: bytes, reply_bytes: bytes, card_bytes: bytes, chunk: bytes
) -> dict[str, bytes]:
    return {"query": request_bytes, "slate": reply_bytes, "card": card_bytes, "catalog": chunk}


@every_parser
@given(data=st.binary(max_size=300))
@fuzz
def test_arbitrary_bytes_parse_or_are_refused(card: ModelCard, name: str, data: bytes) -> None:
    with contextlib.suppress(WireError):
        PARSERS[name](data, card)


@every_parser
@given(
    edits=st.lists(
        st.tuples(st.integers(0, 400), st.integers(0, 3), st.binary(max_size=9)),
        min_size=1,
        max_size=4,
    )
)
@fuzz
def test_a_message_with_bytes_changed_parses_or_is_refused(
    card: ModelCard, valid: dict[str, bytes], name: str, edits: list[tuple[int, int, bytes]]
) -> None:
    data = valid[name]
    for place, removed, inserted in edits:
        start = place % (len(data) + 1)
        data = data[:start] + inserted + data[start + removed :]
    with contextlib.suppress(WireError):
        PARSERS[name](data, card)


words = st.integers(0, 2**32 - 1)
versions = st.binary(min_size=15, max_size=17)
doubles = st.lists(st.floats(), max_size=3)
texts = st.text(max_size=20)


@given(
    version=versions | st.none(),
    step_exponent=words | st.integers(0, 25),
    inverse_rate=words | st.integers(0, 5000),
    k=words | st.integers(0, 7),
    coordinates=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3),
)
@fuzz
def test_a_request_of_any_numbers_parses_or_is_refused(
    *,
    card: ModelCard,
    version: bytes | None,
    step_exponent: int,
    inverse_rate: int,
    k: int,
    coordinates: list[int],
) -> None:
    message = pb.RetrieveRequest(
        space_version=bytes.fromhex(card.space.version) if version is None else version,
        step_exponent=step_exponent,
        inverse_rate=inverse_rate,
        k=k,
        coordinates=coordinates,
    )
    with contextlib.suppress(WireError):
        query = convert.query_from_bytes(message.SerializeToString(), card)
        assert (step_exponent, inverse_rate, k, tuple(coordinates)) == (
            query.signal.lattice.step_exponent,
            query.signal.lattice.inverse_rate,
            query.k,
            query.signal.coordinates,
        )


@given(
    space=st.builds(
        pb.FeatureSpace,
        lower=doubles,
        upper=doubles,
        gain=st.floats(),
        weight_floor=st.floats(),
        lowest_rating=st.floats(),
        highest_rating=st.floats(),
        basis=st.just(bytes(32)) | st.binary(max_size=33),
    ),
    version=versions,
    n_items=words | st.integers(0, 10),
    max_slate_size=words | st.integers(0, 10),
    source=texts,
)
@fuzz
def test_a_card_of_any_numbers_parses_or_is_refused(
    space: pb.FeatureSpace, version: bytes, n_items: int, max_slate_size: int, source: str
) -> None:
    message = pb.GetModelCardResponse(
        space=space,
        catalog_version=version,
        n_items=n_items,
        max_slate_size=max_slate_size,
        source=source,
    )
    with contextlib.suppress(WireError):
        assert source == convert.card_from_bytes(message.SerializeToString()).source


@given(
    items=st.lists(
        st.builds(pb.Item, title=texts, year=words, genres=st.lists(texts, max_size=2)),
        max_size=3,
    ),
    numbers=st.lists(st.floats(width=32), max_size=6),
    shared_slate=st.lists(words | st.integers(0, 5), max_size=4),
)
@fuzz
def test_a_catalog_of_anything_parses_or_is_refused(
    card: ModelCard, items: list[pb.Item], numbers: list[float], shared_slate: list[int]
) -> None:
    message = pb.GetCatalogResponse(
        items=items,
        positions=np.array(numbers, dtype="<f4").tobytes(),
        shared_slate=shared_slate,
    )
    one = replace(card, n_items=1, max_slate_size=1)
    with contextlib.suppress(WireError):
        convert.catalog_from_chunks([message.SerializeToString()], one)

"""Items written as bytes are what the generated messages would have written."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import example, given
from hypothesis import strategies as st

from askew.catalog.listing import MAX_ATTRIBUTES, Value
from askew.limits import MAX_TEXT
from askew.wire.listing_bytes import listings_to_bytes, parts_of
from askew.wire.v1 import retrieval_pb2 as pb

VERSION = "000102030405060708090a0b0c0d0e0f"
LONG = "é" * MAX_TEXT

Parts = tuple[int, str, Sequence[float], Sequence[Value]]
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=MAX_TEXT)
values = st.one_of(st.none(), st.booleans(), texts, st.floats())
items = st.tuples(
    st.integers(0, 2**32 - 1),
    texts,
    st.lists(st.floats(), min_size=1, max_size=8),
    st.lists(values, max_size=MAX_ATTRIBUTES),
)


def message_of(parts: Parts) -> pb.Listing:
    item, title, coordinates, held = parts
    message = pb.Listing(item=item, title=title, coordinates=coordinates)
    for value in held:
        made = message.values.add()
        if isinstance(value, str):
            made.text = value
        elif isinstance(value, bool):
            made.flag = value
        elif value is not None:
            made.number = value
    return message


@given(st.lists(items, max_size=4))
@example([(0, "x" * 127, [0.0, -0.0], [None, 0.0, -0.0, False, True, "x" * 128])])
@example([(1, LONG, [1.0] * 8, [LONG] * MAX_ATTRIBUTES)])  # more than 2**14 bytes
def test_a_reply_is_what_its_messages_would_be(each: list[Parts]) -> None:
    made = listings_to_bytes(VERSION, [parts_of(*parts) for parts in each])
    listings = [message_of(parts) for parts in each]
    whole = pb.RetrieveResponse(catalog_version=bytes.fromhex(VERSION), listings=listings)
    assert made == whole.SerializeToString()

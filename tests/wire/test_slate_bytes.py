"""Items of tastes written as bytes are what the generated messages would have written."""

from __future__ import annotations

from struct import pack

from hypothesis import example, given
from hypothesis import strategies as st

from askew.catalog.item import MAX_GENRES, MAX_YEAR, Item
from askew.limits import MAX_TEXT
from askew.wire.slate_bytes import reply_of_parts
from askew.wire.v1 import retrieval_pb2 as pb

VERSION = bytes(range(16))
LONG = "é" * MAX_TEXT

words = st.text("aé ß字-9", min_size=1, max_size=MAX_TEXT).map(str.strip).filter(bool)
items = st.builds(
    Item,
    title=words,
    year=st.none() | st.integers(1, MAX_YEAR),
    genres=st.lists(words, max_size=3).map(tuple),
)


@given(
    each=st.lists(items, min_size=1, max_size=4),
    payloads=st.lists(st.binary(max_size=200), max_size=4),
    width=st.integers(1, 40),
)
@example([Item("x" * 127), Item(LONG, 127), Item("y", 128, (LONG,) * MAX_GENRES)], [b""], 3)
@example([Item("x")] * 64, [bytes(70_000)], 32)
def test_a_reply_is_what_its_messages_would_be(
    each: list[Item], payloads: list[bytes], width: int
) -> None:
    ids, boosts, codes = range(len(each)), bytes(len(each)), bytes(width * len(each))
    made = reply_of_parts(VERSION, pack(f"<{len(ids)}I", *ids), boosts, codes, each, payloads)
    whole = pb.RetrieveResponse(
        catalog_version=VERSION,
        item_ids=ids,
        boosts=boosts,
        codes=codes,
        items=[pb.Item(title=i.title, year=i.year or 0, genres=i.genres) for i in each],
        payloads=payloads,
    )
    assert made == whole.SerializeToString()

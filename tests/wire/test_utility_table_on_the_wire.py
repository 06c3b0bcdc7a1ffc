"""The utility table: its bytes, there and back, and from hostile servers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from wire.hostility import accepted_parts, altered

from askew.catalog.catalog import Catalog
from askew.errors import Malformed, OutOfRange, WireError
from askew.protocol.model_card import ModelCard
from askew.protocol.utility_table import (
    MAX_FILE_BYTES,
    MAX_ROWS,
    Baseline,
    ModeUtility,
    ServingMode,
    UtilityTable,
)
from askew.wire.catalog_file import catalog_to_bytes
from askew.wire.messages import parse
from askew.wire.tastes import (
    card_from_bytes,
    card_to_bytes,
    card_to_message,
    utility_table_from_message,
    utility_table_to_message,
)
from askew.wire.v1 import retrieval_pb2 as pb

NAN, INF = float("nan"), float("inf")
TABLE = UtilityTable(
    (
        ModeUtility(
            ServingMode.LOCAL, 5, 300, 1.0, ndcg_error=0.125, recall=0.5, recall_error=0.25
        ),
        ModeUtility(ServingMode.CACHED, 2, 200, 0.5),
        ModeUtility(ServingMode.QUERY, 2, 200, 0.75, 0.25, 0.125, "bucket_rr", Fraction(4), 5, 9),
        ModeUtility(ServingMode.QUERY, 0, 0, 0.5, -0.25, 0.125, "geo_laplace", Fraction(1, 2), 8),
    ),
    proposed=2,
    baselines=(Baseline("EASE", 0.75, 0.125, 0.5, 0.25),),
)

BYTES = bytes.fromhex(
    "0a 39"  # field 1, a row: 57 bytes
    "0a 05 6c6f63616c"  # local
    "15 05000000"  # 5 items
    "19 2c01000000000000"  # 300 bytes
    "21 000000000000f03f"  # NDCG 1
    "59 000000000000c03f"  # its error 1/8
    "61 000000000000e03f"  # recall 1/2
    "69 000000000000d03f"  # its error 1/4
    "0a 1f"  # a row: 31 bytes
    "0a 06 636163686564"  # cached
    "15 02000000"  # 2 items
    "19 c800000000000000"  # 200 bytes
    "21 000000000000e03f"  # NDCG 1/2
    "0a 48"  # a row: 72 bytes
    "0a 05 7175657279"  # query
    "15 02000000"  # 2 items
    "19 c800000000000000"  # 200 bytes
    "21 000000000000e83f"  # NDCG 3/4
    "29 000000000000d03f"  # gain 1/4
    "31 000000000000c03f"  # its error 1/8
    "3a 09 6275636b65745f7272"  # bucket_rr
    "42 01 34"  # at "4"
    "4d 05000000"  # k = 5
    "55 09000000"  # 9 equivalent items
    "0a 39"  # a row: 57 bytes; 0 items, 0 bytes and 0 equivalent items take none
    "0a 05 7175657279"  # query
    "21 000000000000e03f"  # NDCG 1/2
    "29 000000000000d0bf"  # gain -1/4
    "31 000000000000c03f"  # its error 1/8
    "3a 0b 67656f5f6c61706c616365"  # geo_laplace
    "42 03 312f32"  # at "1/2"
    "4d 08000000"  # k = 8
    "15 02000000"  # field 2, fixed32: the third is proposed
    "1a 2a"  # field 3, a baseline: 42 bytes
    "0a 04 45415345"  # EASE
    "11 000000000000e83f"  # NDCG 3/4
    "19 000000000000c03f"  # its error 1/8
    "21 000000000000e03f"  # recall 1/2
    "29 000000000000d03f"  # its error 1/4
)


def test_a_table_is_these_bytes() -> None:
    expected = BYTES
    assert expected == utility_table_to_message(TABLE).SerializeToString()


def test_these_bytes_are_a_table() -> None:
    assert utility_table_from_message(pb.UtilityTable.FromString(BYTES)) == TABLE


@pytest.mark.parametrize("table", [TABLE, replace(TABLE, proposed=0), None])
def test_a_card_brings_its_table(card: ModelCard, table: UtilityTable | None) -> None:
    """Planted bug: a card without a table gets an empty one."""
    told = replace(card, utility_table=table)
    assert told == card_from_bytes(card_to_bytes(told))


@pytest.mark.parametrize("size", [1, 127, 128, 2**21, MAX_FILE_BYTES])
def test_a_file_is_as_long_whatever_size_it_tells(
    world: Callable[[int, int], tuple[ModelCard, Catalog]], size: int
) -> None:
    """Since it tells its own. Planted bug: a number whose length grows."""
    card, catalog = world(2, 5)
    offers = (replace(TABLE.rows[0], size=size), *TABLE.rows[1:])
    one = replace(card, utility_table=TABLE)
    other = replace(card, utility_table=replace(TABLE, rows=offers))
    assert len(catalog_to_bytes(one, catalog)) == len(catalog_to_bytes(other, catalog))


OFFERS: dict[str, tuple[str, object, type[WireError]]] = {
    "no way": ("mode", "", OutOfRange),
    "an unknown way": ("mode", "both", OutOfRange),
    "a query that is local": ("mode", "local", OutOfRange),
    "a signal without a mechanism": ("mechanism", "", OutOfRange),
    "an unknown mechanism": ("mechanism", "plain", OutOfRange),
    "no epsilon": ("epsilon", "", OutOfRange),
    "an epsilon of 0": ("epsilon", "0", OutOfRange),
    "a negative epsilon": ("epsilon", "-1", Malformed),
    "an epsilon of nothing": ("epsilon", "1/0", Malformed),
    "an epsilon in words": ("epsilon", "inf", Malformed),
    "an epsilon of a million digits": ("epsilon", "9" * 10**6, Malformed),
    "a huge epsilon": ("epsilon", "1025", OutOfRange),
    "no results": ("k", 0, OutOfRange),
    "too many results": ("k", 1025, OutOfRange),
    "more items than there are": ("held", 6, OutOfRange),
    "a huge file": ("size", MAX_FILE_BYTES + 1, OutOfRange),
    "an NDCG of NaN": ("ndcg", NAN, OutOfRange),
    "an NDCG above 1": ("ndcg", 1.5, OutOfRange),
    "a negative recall": ("recall", -0.5, OutOfRange),
    "an infinite gain": ("gain", INF, OutOfRange),
    "a huge gain": ("gain", 2.5, OutOfRange),
    "an error of NaN": ("gain_error", NAN, OutOfRange),
    "a negative error": ("gain_error", -0.5, OutOfRange),
}


@pytest.mark.parametrize(("path", "value", "kind"), OFFERS.values(), ids=OFFERS)
def test_a_bad_offer_is_refused(
    card: ModelCard, path: str, value: object, kind: type[WireError]
) -> None:
    message = card_to_message(replace(card, utility_table=TABLE))
    bad = altered(message.utility_table.rows[2], path, value)
    message.utility_table.rows[2].ParseFromString(bad)
    with pytest.raises(WireError) as caught:
        card_from_bytes(message.SerializeToString())
    assert kind is caught.type


@pytest.mark.parametrize(
    ("path", "value"), [("name", "ours"), ("name", ""), ("ndcg", NAN), ("recall_error", -0.5)]
)
def test_a_bad_baseline_is_refused(path: str, value: object) -> None:
    message = utility_table_to_message(TABLE)
    message.baselines[0].ParseFromString(altered(message.baselines[0], path, value))
    with pytest.raises(OutOfRange):
        utility_table_from_message(message)


def test_a_baseline_told_twice_is_refused() -> None:
    message = utility_table_to_message(TABLE)
    message.baselines.append(message.baselines[0])
    with pytest.raises(OutOfRange, match="all different"):
        utility_table_from_message(message)


@pytest.mark.parametrize(
    "field", ["mechanism", "epsilon", "k", "equivalent_items", "gain", "gain_error"]
)
def test_an_offer_without_a_signal_has_nothing_of_one(field: str) -> None:
    message = utility_table_to_message(TABLE)
    value = getattr(message.rows[2], field)
    message.rows[0].ParseFromString(altered(message.rows[0], field, value))
    with pytest.raises(OutOfRange):
        utility_table_from_message(message)


def test_a_proposal_is_a_row_of_the_table() -> None:
    message = pb.UtilityTable.FromString(altered(utility_table_to_message(TABLE), "proposed", 4))
    with pytest.raises(OutOfRange):
        utility_table_from_message(message)


@pytest.mark.parametrize("count", [0, MAX_ROWS + 1])
def test_a_table_of_no_rows_or_of_too_many_is_refused(count: int) -> None:
    offers = [utility_table_to_message(TABLE).rows[0]] * count
    with pytest.raises(OutOfRange):
        utility_table_from_message(pb.UtilityTable(rows=offers))


@pytest.mark.slow
def test_every_part_of_a_table_passes_for_a_table_or_is_refused() -> None:
    """Also where a part of a message is a message: rows may be missing, never half."""

    def parsed(data: bytes) -> None:
        table = utility_table_from_message(parse(pb.UtilityTable(), data))
        assert set(table.rows) <= set(TABLE.rows)

    accepted = accepted_parts(BYTES, parsed)
    rows = [59, 59 + 33, 59 + 33 + 74, 59 + 33 + 74 + 59]
    assert accepted == [*rows, rows[-1] + 5]  # and what is proposed, before the baseline

"""A release is one string of bytes, and only that string."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from askew.dp.privacy import REPLACE_ONE, ApproximateDP, rational
from askew.dp.release import Release, plain_name, release_from_bytes
from askew.errors import Malformed, WireError

RELEASE = Release(
    charge=7,
    dataset="films",
    mechanism="canonical",
    k=3,
    items=("Alien (1979)", "Amélie (2001)"),
    ranked=False,
    stopped=False,
    loss=ApproximateDP(Fraction(1, 2), Fraction(1, 10**9), REPLACE_ONE),
    max_items_per_unit=10,
    parameters={"gamma": "1/2"},
)
# Names in order, no spaces, UTF-8: these bytes are what ledgers hold, so they may never drift.
GOLDEN = (
    '{"all_within":null,"charge":7,"counts":null,"dataset":"films","delta":"1/1000000000","each_within":null,"epsilon":"1/2",'
    '"items":["Alien (1979)","Amélie (2001)"],"k":3,"max_items_per_unit":10,'
    '"mechanism":"canonical","neighbors":"replace one","parameters":{"gamma":"1/2"},'
    '"privacy_unit":"one person\'s whole history","ranked":false,"schema":1,"stopped":false}'
).encode()


def test_a_release_is_these_bytes_and_these_bytes_are_the_release() -> None:
    assert RELEASE.to_bytes() == GOLDEN
    assert release_from_bytes(GOLDEN) == RELEASE


def test_a_release_with_counts_is_its_bytes_and_no_others() -> None:
    """Planted bugs: a count as text or true; counts of other items; counts without their error."""
    counted = replace(RELEASE, counts=(12, -3), each_within=9, all_within=11)
    assert release_from_bytes(counted.to_bytes()) == counted
    content = json.loads(counted.to_bytes())
    changes: list[dict[str, object]] = [
        {"counts": [12]},
        {"counts": [12, True]},
        {"counts": [12, 1 << 63]},
        {"each_within": None},
        {"all_within": -1},
        {"all_within": 11.0},
        {"counts": None},
    ]
    for changed in changes:
        with pytest.raises(WireError):
            release_from_bytes(spelt(content | changed))


def spelt(content: object) -> bytes:
    """As a release is, so that nothing but its content can be the reason of a refusal."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


FORGED: dict[str, tuple[str, object]] = {
    "another schema": ("schema", 2),
    "a charge of true": ("charge", True),
    "no charge": ("charge", 0),
    "k below the number of items": ("k", 1),
    "an item that is no text": ("items", [1]),
    "an item that steers a terminal": ("items", ["\x1b[2J"]),
    "stopped as nothing": ("stopped", None),
    "an epsilon of 0": ("epsilon", "0"),
    "an epsilon of 2/4": ("epsilon", "2/4"),
    "a delta of 1": ("delta", "1"),
    "another relation": ("neighbors", "friends"),
    "another unit": ("privacy_unit", "one event"),
    "a bound of 0": ("max_items_per_unit", 0),
    "a parameter that is no text": ("parameters", {"gamma": 1}),
    "a field of its own": ("person", "ada"),
}


@pytest.mark.parametrize(("name", "value"), FORGED.values(), ids=FORGED)
def test_a_forged_field_is_refused(name: str, value: object) -> None:
    with pytest.raises(WireError):
        release_from_bytes(spelt(json.loads(GOLDEN) | {name: value}))


def test_a_missing_field_is_refused() -> None:
    for name in json.loads(GOLDEN):
        content = {key: value for key, value in json.loads(GOLDEN).items() if key != name}
        with pytest.raises(WireError):
            release_from_bytes(spelt(content))


@pytest.mark.parametrize(
    "data",
    [
        b"null",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        GOLDEN + b"\n",
        GOLDEN.replace(b",", b", ", 1),
        GOLDEN.replace("é".encode(), b"\\u00e9"),
        GOLDEN.replace(b'"charge":7', b'"charge":7,"charge":7'),
        b'{"charge":' + b"9" * 5000 + b"}",
    ],
)
def test_bytes_that_are_not_the_canonical_ones_are_refused(data: bytes) -> None:
    """So a stored release cannot be told apart by how it is spelt."""
    with pytest.raises(WireError):
        release_from_bytes(data)


@pytest.mark.parametrize("text", ["0.5", " 1", "+1", "1/-2", "", "\u0661", None])
def test_a_rational_is_written_one_way(text: object) -> None:
    with pytest.raises(Malformed):
        rational(text)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("Alien (1979)", "Alien (1979)"),
        ("  ", "(no name)"),
        ("x" * 1000, "x" * 500),
        ("\n" * 500, ("\\u{a}" * 500)[:500]),
    ],
)
def test_any_name_of_an_item_can_be_released(name: str, plain: str) -> None:
    """Planted bug: a name that no release may hold, refused after the charge, tells that it won."""
    assert plain_name(name) == plain
    assert replace(RELEASE, items=(plain_name(name),)).items == (plain,)

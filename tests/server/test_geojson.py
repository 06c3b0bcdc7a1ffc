"""GeoJSON in its three shapes, by blocks of any size."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.errors import DataError
from askew_server import geojson
from askew_server.geojson import COORDINATES, columns, features

ODD = 'a "quoted\\" [{{ name \u2603'
FEATURES: list[dict[str, Any]] = [
    {
        "type": "Feature",
        "id": 7,
        "geometry": {"type": "Point", "coordinates": [13.4, 52.5, 34]},
        "properties": {"name": ODD, "tags": {"a": ["]", "}"]}, "open": True, "price": 2.5},
    },
    {"type": "Feature", "geometry": None, "properties": None},
    {"geometry": {"type": "Point", "coordinates": [-1, 2]}, "properties": {"name": "B", "id": 3}},
]
TEXTS = [
    ("13.4", "52.5", "7", ODD, "true", "2.5", '{"a":["]","}"]}'),
    ("", "", "", "", "", "", ""),
    ("-1", "2", "3", "B", "", "", ""),
]
NAMES = (*COORDINATES, "id", "name", "open", "price", "tags")
PARTS = [json.dumps(each) for each in FEATURES]
INDENTED = [json.dumps(each, indent=1, ensure_ascii=False) for each in FEATURES]
CRS = '"crs": {"type": "name", "properties": {"name": "a [ in it"}}'
SHAPES = {
    "collection": '{"type": "FeatureCollection", '
    + CRS
    + ', "features": ['
    + ",".join(PARTS)
    + "]}",
    "collection, its type last": '{"features" :\n[' + ",\n".join(INDENTED) + '\n], "type": "x"}',
    "array": "[\n" + ",\n".join(PARTS) + "\n]\n",
    "lines": "\n".join(PARTS) + "\n",
    "lines without an end": "\r\n".join(PARTS),
    "records": "".join(f"\x1e{each}\n" for each in INDENTED),
    "behind a byte order mark": "\ufeff[" + ",".join(INDENTED) + "]",
}


def blocks_of(data: bytes, size: int = 1 << 20) -> Callable[[], Iterator[bytes]]:
    return lambda: (data[at : at + size] for at in range(0, len(data), size))


def read(data: bytes, size: int = 1 << 20) -> list[geojson.Feature | None]:
    return [each for part in features("f", blocks_of(data, size)) for each in part]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_has_the_same_features(shape: str) -> None:
    """Planted bug: a bracket in a text counts."""
    data = SHAPES[shape].encode()
    assert columns("f", blocks_of(data)) == NAMES
    found = [each for each in read(data) if each]
    assert [tuple([each.text(name) for name in NAMES]) for each in found] == TEXTS
    assert [each.is_point for each in found] == [True, False, True]


@given(st.sampled_from(sorted(SHAPES)), st.integers(1, 400), st.integers(1, 60))
def test_it_does_not_matter_where_blocks_end(shape: str, size: int, head: int) -> None:
    """Within a feature, a text, a character or an escape of it."""
    data = SHAPES[shape].encode()
    whole = read(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(geojson, "_HEAD", 200 + head)  # bytes, in which the array begins
        assert read(data, size) == whole


def test_what_no_json_has_for_a_number_is_nothing() -> None:
    data = PARTS[0].replace(": 2.5", ": NaN").replace("13.4", "-Infinity").encode()
    [feature] = read(data)
    assert feature is not None
    assert [feature.text(name) for name in NAMES[:2]] == ["", "52.5"]
    assert feature.text("price") == ""


@pytest.mark.parametrize(
    "bad", [b'{"geometry": 5}', b'{"geometry": {"type": "\xff"}}', b'{"geometry": nil}']
)
def test_a_feature_that_is_none_costs_itself_alone(bad: bytes) -> None:
    deep = b'{"geometry": ' + b"[" * 9999 + b"]" * 9999 + b"}"
    found = read(b"\n".join([PARTS[0].encode(), bad, deep, PARTS[2].encode()]))
    assert [each is None for each in found] == [False, True, True, False]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (SHAPES["collection"].encode()[:-4], "f: it ends within feature 3"),
        (SHAPES["array"].encode()[:-3], "f: it ends within feature 4"),
        (SHAPES["lines"].encode()[:-9], "f: it ends within feature 3"),
        (b'[{"name": "' + b"x" * 5000 + b'"}]', "f: feature 1 has no end within 4,000 bytes"),
        (b'{"type": "Topology", "objects": {}}', "begins like JSON, but is no GeoJSON"),
        (SHAPES["array"].encode("utf-16"), "UTF-16 or UTF-32; GeoJSON is UTF-8"),
        (SHAPES["lines"].encode("utf-16-be"), "UTF-16 or UTF-32; GeoJSON is UTF-8"),
    ],
)
def test_what_is_no_geojson_is_called_what_it_is(
    monkeypatch: pytest.MonkeyPatch, data: bytes, said: str
) -> None:
    monkeypatch.setattr(geojson, "_LONGEST", 4000)
    monkeypatch.setattr(geojson, "_HEAD", 1000)
    assert geojson.looks_like_json(data[:64])
    with pytest.raises(DataError, match=said):
        read(data, 1000)

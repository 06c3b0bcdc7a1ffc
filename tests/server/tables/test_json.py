"""JSON in every shape that it is read in, by blocks of any size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.errors import DataError
from askew_server.tables import json as json_files
from askew_server.tables import open_table
from askew_server.tables.json import COORDINATES, Feature, features, looks_like_json

ODD = 'a "quoted\\" [{{ name \u2603'
FEATURES: list[dict[str, Any]] = [
    {
        "type": "Feature",
        "id": 7.0,
        "geometry": {"type": "Point", "coordinates": [13.4, 52.5, 34]},
        "properties": {"name": ODD, "tags": {"a": ["]", "}"]}, "open": True, "price": 2.5},
    },
    {"type": "Feature", "geometry": None, "properties": None},
    {"geometry": {"type": "Point", "coordinates": [-1.0, 2]}, "properties": {"name": "B", "id": 3}},
    {"geometry": {"type": "Point", "coordinates": [9]}, "properties": {"name": "C"}},
]
TEXTS = [
    ("13.4", "52.5", "7", ODD, "true", "2.5", '{"a":["]","}"]}'),
    ("-1", "2", "3", "B", "", "", ""),
    ("9", "", "", "C", "", "", ""),
]
NAMES = (*COORDINATES, "id", "name", "open", "price", "tags")
PARTS = [json.dumps(feature) for feature in FEATURES]
INDENTED = [json.dumps(feature, indent=1, ensure_ascii=False) for feature in FEATURES]
CRS = '"crs": {"type": "name", "properties": {"name": "a [ in it"}}'
SHAPES = {
    "collection": f'{{"type": "FeatureCollection", {CRS}, "features": [{",".join(PARTS)}]}}',
    "collection, its type last": '{"features" :\n[' + ",\n".join(INDENTED) + '\n], "type": "x"}',
    "array": "[\n" + ",\n".join(PARTS) + "\n]\n",
    "lines": "\r\n".join(PARTS),
    "records": "".join(f"\x1e{feature}\n" for feature in INDENTED),
    "behind a byte order mark": "\ufeff[" + ",".join(INDENTED) + "]",
}


def read(data: bytes, size: int = 1 << 20) -> list[Feature | None]:
    return list(features("f", (data[at : at + size] for at in range(0, len(data), size))))


def rows_of(path: Path, names: Sequence[str]) -> list[tuple[int | str, ...]]:
    """The number of each row, and its texts."""
    table = open_table(path)
    return [
        row
        for batch in table.batches(names, table.omissions())
        for row in zip(batch.rows.tolist(), *map(pa.Array.to_pylist, batch.texts), strict=True)
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_has_the_same_features(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "any.json"
    path.write_bytes(SHAPES[shape].encode())
    table = open_table(path)
    assert (table.columns, table.unit) == (NAMES, "feature")
    left_out = table.omissions()
    [batch] = table.batches(NAMES, left_out)
    assert [*zip(*[column.to_pylist() for column in batch.texts], strict=True)] == TEXTS
    assert (batch.rows.tolist(), batch.progress) == ([1, 3, 4], 1.0)
    assert left_out.lines == ("1: its geometry must be a Point (feature 2)",)


@given(st.sampled_from(sorted(SHAPES)), st.integers(1, 400), st.integers(1, 60))
def test_it_does_not_matter_where_blocks_end(shape: str, size: int, head: int) -> None:
    """Within a feature, a text, a character or an escape of it."""
    data = SHAPES[shape].encode()
    whole = read(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_files, "HEAD", 200 + head)  # bytes, in which the array begins
        assert read(data, size) == whole


def test_a_text_says_what_it_said_beside_what_is_no_number(tmp_path: Path) -> None:
    said = r"a,NaN,b \" [-Infinity]"
    properties = f'"properties": {{"x": NaN, "name": "{said}"}}'
    geojson = f'{{"geometry": {{"coordinates": [-Infinity, 52.5]}}, {properties}}}'
    [feature] = read(geojson.encode())
    assert feature is not None
    texts = [feature.text(name) for name in (*COORDINATES, "x", "name")]
    assert texts == ["", "52.5", "", 'a,NaN,b " [-Infinity]']
    path = tmp_path / "any.jsonl"
    path.write_text(f'{{"x": 1, "name": "A"}}\n{{"x": -Infinity, "name": "{said}"}}\n')
    assert rows_of(path, ("x", "name")) == [(1, "1", "A"), (2, "", 'a,NaN,b " [-Infinity]')]


@pytest.mark.parametrize(
    "bad", [b'{"geometry": 5}', b'{"geometry": {"type": "\xff"}}', b'{"geometry": nil}']
)
def test_a_feature_that_is_none_costs_itself_alone(bad: bytes) -> None:
    deep = b'{"geometry": ' + b"[" * 9999 + b"]" * 9999 + b"}"
    rows = read(b"\n".join([PARTS[0].encode(), bad, deep, PARTS[2].encode()]))
    assert [feature is None for feature in rows] == [False, True, True, False]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (SHAPES["collection"].encode()[:-4], "f: it ends within feature 4"),
        (SHAPES["array"].encode()[:-3], "f: it ends within feature 5"),
        (b'[{"name": "' + b"x" * 5000 + b'"}]', "f: feature 1 has no end within 4,000 bytes"),
        (SHAPES["lines"].encode("utf-16-be"), "UTF-16 or UTF-32; GeoJSON is UTF-8"),
    ],
)
def test_what_is_no_geojson_is_called_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, reason: str
) -> None:
    monkeypatch.setattr(json_files, "_LONGEST", 4000)
    monkeypatch.setattr(json_files, "HEAD", 1000)
    assert looks_like_json(data[:64])
    with pytest.raises(DataError, match=reason):
        read(data, 1000)
    path = tmp_path / "any.json"
    for text in ('{"a": 1,', '{\n"rows": [\n{"a": 1},\n{"a": 2}\n]\n}'):
        path.write_text(text)
        with pytest.raises(DataError, match=r"neither GeoJSON .* nor JSON lines .*; write it as "):
            open_table(path)


@pytest.mark.parametrize(
    "bad",
    ['{"a": 1,', '["x"]', '{"a": nil}', '{"a": "' + "x" * (1 << 20)],
    ids=["cut short", "no object", "no JSON", "longer than what says what a file is"],
)
@pytest.mark.parametrize("end", ["", "\n"], ids=["without an end", "ended"])
def test_a_first_line_that_is_none_costs_itself_alone(tmp_path: Path, bad: str, end: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(f'{bad}\n{{"a": "geometry"}}{end}')
    assert open_table(path).unit == "line"
    assert rows_of(path, ("a",)) == [(2, "geometry")]


def test_a_line_that_is_too_long_costs_itself_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_files, "LONGEST_ROW", 100)
    monkeypatch.setattr(json_files, "BLOCK", 16)
    texts = ["x", "x" * 91, "x" * 92, "y"]
    lines = [json.dumps({"a": text}) for text in texts]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines))
    assert rows_of(path, ("a",)) == [(1, "x"), (2, "x" * 91), (4, "y")]
    table = open_table(path)
    left_out = table.omissions()
    assert sum(len(batch.rows) for batch in table.batches(["a"], left_out)) == 3
    assert left_out.lines == ("1: a row must be at most 100 bytes (line 3)",)


def test_of_lines_the_values_that_are_read_are_texts_and_numbers(tmp_path: Path) -> None:
    """Objects and arrays count only in columns that are read."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"a": "x", "b": 65.0, "c": {"deep": 1}}\n\n{"a": [1]}\n'
        b'{"a": {"b": 1}, "b": 2}\n'
        b'{"b": null, "c": [2]}\r\nno object\n["x"]\n{"a": -7, "b": 1.50}\n{"a": "\xff"}'
    )
    table = open_table(path)
    assert (table.columns, table.unit) == (("a", "b", "c"), "line")
    for is_coded in (False, True):
        left_out = table.omissions()
        [batch] = table.batches(("a", "b"), left_out, coded=is_coded)
        assert batch.rows.tolist() == [1, 5, 8]
        assert [c.to_pylist() for c in batch.texts] == [["x", "", "-7"], ["65", "", "1.50"]]
        assert left_out.lines == (
            "3: it must be one object of JSON, in UTF-8 (lines 6, 7, 9)",
            "2: what is read of it must be texts and numbers (lines 3, 4)",
        )

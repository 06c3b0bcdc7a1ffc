"""Files of items: every row is checked, and whatever is left out is told with its line."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from small_collections import DAY, GERMANY

from askew.catalog.attributes import Words
from askew.catalog.item import AttributeKind
from askew.errors import DataError, OutOfRange, ParameterError
from askew.spaces.map import MapSpace, MetricSpace, Region
from askew_server.collections import hours
from askew_server.collections.intake import (
    AttributeOption,
    CollectionFile,
    ReadCollection,
    read_collection,
    read_towns,
)
from askew_server.collections.model import inside, space_of_axes, space_of_region

NAN = float("nan")
HEADER = "id,name,latitude,longitude"
BERLIN = "52.5,13.4"
MONDAY = datetime.date(2026, 11, 23)


def read(
    path: Path,
    *options: str,
    live: tuple[str, ...] = (),
    space: MetricSpace = GERMANY,
    max_bad_rows: float = 1.0,
) -> ReadCollection:
    shown = [AttributeOption.parsed(option) for option in options]
    shown += [AttributeOption.parsed(option, live=True) for option in live]
    file = CollectionFile("cafes", path, MONDAY, "made up", max_bad_rows)
    return read_collection(file, space, shown)


def titles(reading: ReadCollection) -> list[str]:
    collection = reading.collection
    return [item.title for item in collection.listings(range(len(collection)))]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cafes.csv"


def written(file: Path, *lines: str, header: str = HEADER) -> Path:
    file.write_text("\n".join([header, *lines, ""]), encoding="utf-8")
    return file


def with_x(file: Path, *values: str) -> Path:
    """Places in Berlin with these values of x."""
    lines = (f"{at},A,{BERLIN},{value}" for at, value in enumerate(values))
    return written(file, *lines, header=f"{HEADER},x")


def feature(place: list[float], **more: object) -> dict[str, object]:
    """One of GeoJSON."""
    return {"type": "Feature", "geometry": {"type": "Point", "coordinates": place}, **more}


def test_a_row_outside_is_named_with_its_own_file(tmp_path: Path) -> None:
    for name, place in (("a.csv", "52,13"), ("b.csv", "46,13")):
        written(tmp_path / name, f"1,A,{place}")
    [line] = read(tmp_path).omissions.lines
    assert line == "1: it lies outside the region 47/5/55/16 (line 2 of b.csv)"


def test_parquet_and_geojson_make_the_same_collection_as_csv(file: Path) -> None:
    """Planted bug: longitude, which stands first in GeoJSON, is taken for latitude."""
    rows = [(f"k{i}", f"Bäckerei {i}", 47 + i / 7, 6 + i / 3, i % 2 == 0, i / 4) for i in range(20)]
    header = f"{HEADER},open,price"
    csv = written(file, *[",".join(map(str, row)) for row in rows], header=header)
    columns, geojson = file.with_suffix(".parquet"), file.with_suffix(".geojson")
    duckdb.read_csv(str(csv)).write_parquet(str(columns))
    features = [
        feature([east, north], id=key, properties={"name": name, "open": is_open, "price": price})
        for key, name, north, east, is_open, price in rows
    ]
    geojson.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    readings = [read(path, "price=number:EUR", live=("open",)) for path in (csv, columns, geojson)]
    assert len({reading.collection.card.version for reading in readings}) == 1
    assert readings[0].collection.listings([3])[0].values == (0.75, False)
    first, *others = [np.array(reading.keys).tolist() for reading in readings]
    assert others == [first] * 2


def test_what_is_not_a_number_is_missing(tmp_path: Path) -> None:
    """Planted bug: a place is called "nan", and a price of nan takes it out."""
    path = tmp_path / "cafes.parquet"
    names = ["title", "name", "id", "lat", "lon", "price"]
    columns = [[NAN, 7.0], ["A", "B"], [1.0, 2.0], [52.5, 52.5], [13.4, NAN], [NAN, 2.0]]
    parquet.write_table(pa.table(columns, names), path)
    reading = read(path, "price=number", live=("free=number",))
    [listing] = reading.collection.listings([0])
    assert (listing.title, listing.values) == ("A", (None, None))
    assert reading.omissions.lines == ("1: lon must be a finite number (row 2)",)
    assert reading.unknown.count == 0


def test_a_feature_needs_no_id_unless_another_has_one(tmp_path: Path) -> None:
    """Planted bug: every GeoJSON file has ids, so one without them has no usable feature."""
    path, words = tmp_path / "cafes.geojson", {"properties": {"name": "A"}}
    for first, kept in (({}, 2), ({"id": 7}, 1)):
        features = [feature([10, 50], **words, **more) for more in (first, {"id": None})]
        path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
        reading = read(path, live=("free=number",))
        assert (len(reading.collection), reading.keys is not None) == (kept, kept == 1)
        assert reading.omissions.count == 2 - kept


def test_points_on_axes_are_columns_named_as_the_axes(file: Path) -> None:
    reading = read(written(file, "A,0", "B,24", "C,24.1", header="title,hour"), space=DAY)
    assert reading.collection.coordinates.tolist() == [[0], [24]]
    assert reading.omissions.lines == ("1: it lies outside hour from 0 to 24 h (line 4)",)
    assert reading.keys is None


def test_only_columns_that_are_named_are_shown(file: Path) -> None:
    """Planted bug: every column of the file is published."""
    header = f"{HEADER},price,margin"
    reading = read(written(file, f"1,A,{BERLIN},2,3", header=header), "price")
    assert [attribute.name for attribute in reading.collection.card.attributes] == ["price"]
    assert reading.unused == ("id", "margin")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["0", "1", "-3e2", ""], AttributeKind.NUMBER),
        (["yes", "no", "", "YES"], AttributeKind.FLAG),
        (["Mo-Fr 08:00-18:00", "24/7", "Sa 9:00-13:00"], AttributeKind.HOURS),
        (["thai", "italian"], AttributeKind.CATEGORY),
        (["", ""], AttributeKind.CATEGORY),
    ],
)
def test_a_kind_that_is_not_declared_is_guessed(
    file: Path, values: list[str], kind: AttributeKind
) -> None:
    reading = read(with_x(file, *values), "x")
    assert reading.collection.card.attributes[0].kind is kind
    assert reading.omissions.count == 0


@pytest.mark.parametrize(("usual", "kind"), [("Mo-Fr 08:00-18:00", "hours"), ("yes", "flag")])
def test_a_column_that_looks_like_two_kinds_is_to_be_named(
    file: Path, usual: str, kind: str
) -> None:
    """Planted bug: hours of which some cannot be read become words, and none is open."""
    path = with_x(file, *[usual] * 17, *["by appointment"] * 3)
    with pytest.raises(DataError, match=f"{kind} in 85% of its values: name x={kind}, .*category"):
        read(path, "x")
    assert read(path, f"x={kind}").unknown.count == 3
    assert read(path, "x=category").unknown.count == 0


def test_a_live_column_may_come_later(file: Path) -> None:
    reading = read(written(file, f"1,A,{BERLIN}"), live=("free=number:plugs", "open"))
    [attribute] = reading.collection.card.attributes
    assert (attribute.name, attribute.live, attribute.unit) == ("free", True, "plugs")
    assert reading.collection.listings([0])[0].values == (None,)


NINE_MARKS = "e" + "\u0301" * 8 + "\u0f73"
BAD = {
    "latitude must be a finite number": ["1,A,nan,13.4", "2,B,inf,13.4", "3,C,,13.4", "4,D,5_0,1"],
    "longitude must be a finite number": ["1,A,52.5,x"],
    "it lies outside the region 47/5/55/16": ["1,A,46.9,13.4", "2,B,52,16.1", "3,C,-91,0"],
    "name must be 1 to 500 characters long": [f"1,   ,{BERLIN}", f"2,{'x' * 501},{BERLIN}"],
    "name must be text that shows, without controls or turned directions": [f"1,\x1b,{BERLIN}"],
    "name must be text with at most 8 combining marks in a row": [f"1,{NINE_MARKS},{BERLIN}"],
}


@pytest.mark.parametrize(("reason", "lines"), BAD.items(), ids=[reason[:40] for reason in BAD])
def test_a_bad_row_is_left_out_and_told(file: Path, reason: str, lines: list[str]) -> None:
    """Planted bug: NaN is no bad number."""
    reading = read(written(file, f"good,A,{BERLIN}", *lines, f"better,B,{BERLIN}"))
    assert titles(reading) == ["A", "B"]
    first = [str(at) for at in range(3, 3 + len(lines))][:3]
    assert reading.omissions.reasons == {reason: (len(lines), first)}


def test_latitude_and_longitude_that_look_swapped_are_counted(file: Path) -> None:
    """Planted bug: no hint."""
    lines = [f"{i},A,13.{i},52.{i}" for i in range(9)]
    reading = read(written(file, f"good,A,{BERLIN}", *lines, "far,A,0,0"))
    hint = "9 would lie in it with latitude and longitude swapped"
    said = f"10: it lies outside the region 47/5/55/16; {hint} (lines 3, 4, 5, ...)"
    assert reading.omissions.lines == (said,)


def test_of_rows_with_one_key_the_last_stays(file: Path) -> None:
    """Planted bug: duplicates are kept."""
    lines = [f"1,A,{BERLIN}", f"2,B,{BERLIN}", f"1,C,{BERLIN}", "1,D,0,0"]
    reading = read(written(file, *lines, f",E,{BERLIN}"), live=("free=number",))
    assert titles(reading) == ["B", "C"]
    assert "1: its key stands on a later row again (line 2)" in reading.omissions.lines
    assert "1: id must be 1 to 200 characters long (line 6)" in reading.omissions.lines


def test_where_nothing_is_live_a_key_is_nobodys_business(file: Path) -> None:
    """Planted bug: a place without a key, or with that of another, is left out."""
    reading = read(written(file, f"1,A,{BERLIN}", f"1,B,{BERLIN}", f",C,{BERLIN}"), "id")
    assert (len(reading.collection), reading.omissions.count, reading.keys) == (3, 0, None)


@pytest.mark.parametrize(
    ("option", "value", "must"),
    [
        ("x=number", "1e39", "be a number up to 3.4e+38"),
        ("x=flag", "only", "be a flag, such as yes or no"),
        ("x=category", "a\x07", "be text that shows, without controls or turned directions"),
        ("x=number", "~20", "be a finite number"),
        ("x=hours", "Mon-Fri 8-18", f"be {hours.UNREADABLE}"),
        ("x=hours", "sunrise-sunset", f"be {hours.INDEFINITE}"),
    ],
)
def test_a_value_that_cannot_be_read_is_unknown_and_its_place_stays(
    file: Path, option: str, value: str, must: str
) -> None:
    """It is counted on rows that stay. Planted bug: it takes its place with it."""
    lines = [f"1,A,{BERLIN},", f"2,B,{BERLIN},{value}", f"3,C,0,0,{value}"]
    reading = read(written(file, *lines, header=f"{HEADER},x"), option)
    assert [item.values for item in reading.collection.listings(range(2))] == [(None,), (None,)]
    assert reading.omissions.count == 1  # which lies outside
    assert reading.unknown.lines == (f"2: x must {must} (lines 3, 4)",)


def test_hours_that_are_known_in_part_are_told_and_repeat_for_every_row(file: Path) -> None:
    reading = read(with_x(file, "8:00-17:00", "18:00+", "18:00+"), "x")
    shown = [item.values[0] for item in reading.collection.listings(range(3))]
    assert shown == ["08:00-17:00", "18:00-24:00", "18:00-24:00"]
    assert reading.unknown.lines == (f"2: x must be {hours.PARTLY} (lines 3, 4)",)


def test_the_first_column_that_is_filled_counts(file: Path) -> None:
    """Row by row; every kind of space is a space. Planted bug: the first one that is there, however
    empty it is.
    """
    lines = ["A\u00a0\u2003É ,,52.5,,13.4", ",B,,50.0,11.0", "C,D,50,51,12", ",,50,51,12"]
    reading = read(written(file, *lines, header="title,name,latitude,lat,lon"))
    rows = reading.collection.listings(range(3))
    places = {item.title: item.coordinates for item in rows}
    assert places == {"A  É": (52.5, 13.4), "B": (50.0, 11.0), "C": (50.0, 12.0)}
    said = "1: title or name must be 1 to 500 characters long (line 5)"
    assert reading.omissions.lines == (said,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{HEADER}\n", "it has no rows"),
        (f"{HEADER}\n1,A,0,0\n", "no row of it is usable: 1: it lies outside"),
        ("id,latitude,longitude\n1,50,10\n", "no column title or name; it has id, latitude"),
        ('{"features": []}', "no column title or name"),
    ],
)
def test_a_file_of_no_use_is_refused(file: Path, text: str, said: str) -> None:
    file.write_text(text)
    with pytest.raises(DataError, match=said):
        read(file)


def test_a_file_that_is_mostly_bad_is_refused_unless_somebody_says_another_share(
    file: Path,
) -> None:
    """What lies elsewhere is no bad row. Planted bug: it is counted, and the rest is taken."""
    rows = [f"{at},A,{BERLIN}" for at in range(8)] + ["8,A,x,13", "9,B,0,0", "10,C,0,0"]
    written(file, *rows)
    assert len(read(file, max_bad_rows=0.1).collection) == 8
    with pytest.raises(DataError, match=r"2 of 12 rows cannot be used.*--max-bad-rows"):
        read(written(file, *rows, "11,,52,13"), max_bad_rows=0.1)


def test_a_category_of_too_many_words_is_none(file: Path) -> None:
    with pytest.raises(DataError, match="10,001 different words"):
        read(with_x(file, *(f"word {number}" for number in range(10_001))), "x")


def test_a_word_of_rows_that_are_left_out_is_nowhere(file: Path) -> None:
    """Planted bug: the words of all rows are stored."""
    rows = [f"1,A,{BERLIN},tea", "2,B,0,0,beer", f"3,C,{BERLIN},ale"]
    [column] = read(written(file, *rows, header=f"{HEADER},x"), "x=category").collection.columns
    assert isinstance(column, Words)
    assert (list(column.vocabulary), column.codes.tolist()) == (["ale", "tea"], [1, 0])


@pytest.mark.parametrize("text", ["=number", "x=price", "x=number:" + "y" * 41])
def test_an_attribute_that_is_none_is_refused(file: Path, text: str) -> None:
    with pytest.raises((ParameterError, OutOfRange)):
        read(with_x(file, "1"), text)


def test_axes_come_from_a_file_and_what_is_no_space_is_refused(tmp_path: Path) -> None:
    for text in ("47/5/55", "a/b/c/d", "55/5/47/16", "47/5/55/nan"):
        with pytest.raises(ParameterError, match="region"):
            space_of_region(text)
    path = tmp_path / "axes.toml"
    path.write_text('[[axes]]\nname = "hour"\nunit = "h"\nlow = 0\nhigh = 24\n')
    assert space_of_axes(path).version == DAY.version
    fine = path.read_text()
    for text in ("axes = []", fine + "size = 3\n", fine.replace("24", "24.00001"), "["):
        path.write_text(text)
        with pytest.raises(DataError, match="no file of axes"):
            space_of_axes(path)
    with pytest.raises(DataError, match="cannot be read"):
        space_of_axes(tmp_path / "none.toml")


def test_an_edge_belongs_to_its_region_and_one_across_180_degrees_has_both_sides() -> None:
    fiji = MapSpace(Region(-21, 176, -12, -178))
    points = np.array([[-17, east] for east in (178.0, -179, 180, -180, 0, 175.9)])
    assert inside(fiji, points).tolist() == [True] * 4 + [False] * 2
    edges = np.array([[47, 5], [47, 16], [55, 5], [55, 16.0], [np.nextafter(55, 56), 16]])
    assert inside(GERMANY, edges).tolist() == [True] * 4 + [False]


def test_towns_are_read_with_their_people(tmp_path: Path) -> None:
    path = tmp_path / "towns.csv"
    rows = ("A,50,10,3e6", "B,50,10,0", "C,50,10,", "D,0,0,5", "E,50,10,1e39")
    written(path, *rows, header="name,latitude,longitude,population")
    towns, omissions = read_towns(path, GERMANY, "made up", max_bad_rows=1.0)
    assert (towns.people.tolist(), towns.coordinates.tolist()) == ([3e6], [[50, 10]])
    assert sorted(omissions.lines) == [
        "1: it lies outside the region 47/5/55/16 (line 5)",
        "1: population must be a finite number (line 4)",
        "2: population must be above 0 and at most 1e+11 (lines 3, 6)",
    ]

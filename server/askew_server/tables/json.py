"""Objects of JSON, one after another: GeoJSON, or JSON lines. No more of a file stands in memory
than a block and the rows of a batch.

GeoJSON has three shapes: a FeatureCollection, an array of features, and features in a row
(GeoJSONSeq, by lines or by record separators, of RFC 8142). Of JSON lines, each is an object with
the names of the columns.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from askew.errors import DataError
from askew_server.tables.files import BLOCK, unpacked
from askew_server.tables.rows import TEXT, Batch, Omissions

_LONGEST = 1 << 25  # bytes of a feature
_HEAD = 1 << 20  # bytes that say what a file is
_BATCH = 1 << 17  # rows
_BETWEEN = b" \t\r\n\x1e"  # features in a row
_ESCAPED: Final = re.compile(rb"\\.", re.DOTALL)
_FEATURES: Final = re.compile(rb'"features"\s*:\s*\[')
_NO_NUMBER: Final = re.compile(rb"(?<=[:,\[])\s*(?:NaN|-?Infinity)\s*(?=[,}\]])")
_QUOTE, _OPENS, _CLOSES = 1, 2, 3
_MEANING: Final = np.zeros(256, np.uint8)
_MEANING[list(b'"')], _MEANING[list(b"{[")], _MEANING[list(b"}]")] = _QUOTE, _OPENS, _CLOSES
_REFUSED = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
COORDINATES: Final = ("longitude", "latitude")


class _Geometry(msgspec.Struct):
    type: str = ""
    coordinates: Any = None


class Feature(msgspec.Struct):
    """A feature; what it lacks is None or empty."""

    geometry: _Geometry | None = None
    properties: dict[str, Any] | None = None
    id: Any = None

    @property
    def is_point(self) -> bool:
        """Return True for a feature whose geometry is a Point."""
        return self.geometry is not None and self.geometry.type == "Point"

    def text(self, name: str) -> str:
        """Return as text a coordinate for the names "longitude" and "latitude", else a property, or
        of "id" without one the feature's id; "" where there is none. What is no text is written as
        JSON.
        """
        if name in COORDINATES:
            at = self.geometry.coordinates if self.geometry is not None else None
            number = COORDINATES.index(name)
            value = at[number] if isinstance(at, list) and len(at) > number else None
        else:
            value = (self.properties or {}).get(name)
        if value is None and name == "id":
            value = self.id
        if value is None:
            return ""
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def looks_like_json(start: bytes) -> bool:
    """Return True where a file's first bytes, in UTF-8, UTF-16 or UTF-32, open an object or an
    array.
    """
    plain = start.lstrip(b"\xef\xbb\xbf\xff\xfe\0" + _BETWEEN)
    return plain.startswith((b"{", b"["))


def begins_geojson(start: bytes) -> bool:
    """Return True where a file's first bytes are GeoJSON; False for JSON lines, whose first line is
    an object by itself, and no feature or collection of them.
    """
    line = start.lstrip(codecs.BOM_UTF8 + _BETWEEN).partition(b"\n")[0]
    try:
        first = msgspec.json.decode(line)
    except _REFUSED:
        return True
    return not isinstance(first, dict) or bool({"geometry", "features"} & set(first))


class JsonFile:
    """GeoJSON, or JSON lines. columns: coordinates, properties by name, and "id" where a feature
    has one; of lines, the names in the order in which they come.

    Raises DataError, which names the file, for GeoJSON that is none or ends too early.
    """

    def __init__(self, path: str, size: int, *, is_geojson: bool) -> None:
        self._path, self._size, self._is_geojson, self._share = path, size, is_geojson, 0.0
        if is_geojson:
            names, has_ids = set[str](), False
            for feature in features(path, self._blocks()):
                if feature is not None:
                    names.update(feature.properties or ())
                    has_ids |= feature.id is not None
            names = (names | {"id"} if has_ids else names) - set(COORDINATES)
            self.columns = (*COORDINATES, *sorted(names))
        else:
            objects = (fields for _, fields in _objects(self._blocks()) if fields is not None)
            self.columns = tuple(dict.fromkeys(chain.from_iterable(objects)))

    def batches(self, names: Sequence[str], omissions: Omissions, coded: bool) -> Iterator[Batch]:
        """Yield batches of rows, as `Table.batches` has them, and add what is no row to
        omissions.
        """
        rows = (self._features if self._is_geojson else self._lines)(names)
        while part := list(islice(rows, _BATCH)):
            for row, texts in part:
                if isinstance(texts, str):
                    omissions.add(row, texts, self._path)
            good = [(row, texts) for row, texts in part if not isinstance(texts, str)]
            columns = [pa.array([texts[at] for _, texts in good], TEXT) for at in range(len(names))]
            if coded:
                columns = [column.dictionary_encode() for column in columns]
            yield Batch(np.array([row for row, _ in good], np.int64), columns, self._share)

    def _blocks(self) -> Iterator[bytes]:
        with unpacked(self._path) as (file, raw):
            while block := file.read(BLOCK):
                self._share = raw.tell() / self._size
                yield block

    # Both yield the texts of a row, or why it is none.

    def _features(self, names: Sequence[str]) -> Iterator[tuple[int, list[str] | str]]:
        for row, feature in enumerate(features(self._path, self._blocks()), 1):
            if feature is None:
                yield row, "it must be a feature of JSON, in UTF-8"
            elif not feature.is_point:
                yield row, "its geometry must be a Point"
            else:
                yield row, [feature.text(name) for name in names]

    def _lines(self, names: Sequence[str]) -> Iterator[tuple[int, list[str] | str]]:
        for row, fields in _objects(self._blocks()):
            values = [bytes(fields.get(name, b"")) for name in names] if fields is not None else []
            if fields is None:
                yield row, "it must be one object of JSON"
            elif any(value.startswith((b"{", b"[")) for value in values):
                yield row, "what is read of it must be texts and numbers"
            else:
                yield row, [_text(value) for value in values]


def features(name: str, blocks: Iterable[bytes]) -> Iterator[Feature | None]:
    """Yield the features of a file, in order; None for one that cannot be read.

    Raises DataError, which names the file, for one that is no GeoJSON or ends too early.
    """
    decode = msgspec.json.Decoder(Feature).decode
    stream, head, count = iter(blocks), b"", 0
    while len(head) < _HEAD and (block := next(stream, b"")):
        head += block
    rest, is_array = _from_the_first(name, head)
    for block in chain([b""], stream):
        objects, rest, goes_on = _cut(rest + block)
        count += len(objects)
        yield from (_decoded(text, decode) for text in objects)
        if is_array and not goes_on:
            return
        if len(rest) > _LONGEST:
            raise DataError(f"{name}: feature {count + 1} has no end within {_LONGEST:,} bytes")
    if is_array or rest.strip(_BETWEEN):
        raise DataError(f"{name}: it ends within feature {count + 1}, or is no GeoJSON there")


def _from_the_first(name: str, start: bytes) -> tuple[bytes, bool]:
    """Return a file's bytes from its first feature on, and whether that stands in an array. Raises
    DataError for what is no GeoJSON.
    """
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in start[:4]:
        raise DataError(f"{name}: it is text in UTF-16 or UTF-32; GeoJSON is UTF-8")
    start = start.removeprefix(codecs.BOM_UTF8).lstrip(_BETWEEN)
    if start.startswith(b"["):
        return start[1:], True
    objects, _, _ = _cut(start)
    first = objects[0] if objects else start
    if (collection := _FEATURES.search(first)) is not None:
        return start[collection.end() :], True
    if b'"geometry"' in first:
        return start, False
    what = "a FeatureCollection, an array of features, or features in a row (GeoJSONSeq)"
    raise DataError(f"{name}: it begins like JSON, but is no GeoJSON: {what}")


def _cut(text: bytes) -> tuple[list[bytes], bytes, bool]:
    """Return the whole objects that a text begins with, what is behind them, and whether the array
    that they stand in goes on. O(length), by columns of bytes.
    """
    plain = np.frombuffer(_ESCAPED.sub(b"  ", text), np.uint8)
    at = np.flatnonzero(_MEANING[plain])
    meaning = _MEANING[plain[at]]
    within = np.logical_xor.accumulate(meaning == _QUOTE)  # a text
    is_bracket = (meaning != _QUOTE) & ~within
    at, step = at[is_bracket], np.where(meaning[is_bracket] == _OPENS, 1, -1)
    depth = np.cumsum(step)
    beyond = np.flatnonzero(depth < 0)[:1]
    if len(beyond):
        at, step, depth = at[: beyond[0]], step[: beyond[0]], depth[: beyond[0]]
    ends = at[(step < 0) & (depth == 0)] + 1
    starts = at[(step > 0) & (depth == 1)][: len(ends)]
    objects = [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    return objects, text[ends[-1] :] if len(ends) else text, not len(beyond)


def _decoded(text: bytes, decode: Callable[[bytes], Feature]) -> Feature | None:
    """Return the feature of a text, in which NaN and infinities, which no JSON has, are null; None
    where it is none.
    """
    try:
        try:
            return decode(text)
        except msgspec.MsgspecError:
            return decode(_NO_NUMBER.sub(b"null", text))
    except _REFUSED:
        return None


def _objects(blocks: Iterable[bytes]) -> Iterator[tuple[int, dict[str, msgspec.Raw] | None]]:
    """Yield the object of each line with the number of the line; None for what is no object."""
    decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    done, rest = 0, b""
    for block in chain(blocks, [b"\n"]):
        *lines, rest = (rest + block).split(b"\n")
        for number, line in enumerate(lines, done + 1):
            text = line.removeprefix(codecs.BOM_UTF8).strip(_BETWEEN)
            if text:
                try:
                    yield number, decode(text)
                except _REFUSED:
                    yield number, None
        done += len(lines)


def _text(value: bytes) -> str:
    """Return the text of a JSON value: of a text what it says, of a number what is written, 65.0 as
    "65"; "" for null and nothing.
    """
    if value.startswith(b'"'):
        return msgspec.json.decode(value, type=str)
    if value in (b"", b"null"):
        return ""
    return re.sub(r"^(-?[0-9]+)\.0+$", r"\1", value.decode())

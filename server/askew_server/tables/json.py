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
from typing import Any, Final, TypeVar

import msgspec
import numpy as np
import pyarrow as pa

from askew.errors import DataError
from askew_server.tables.files import BLOCK, unpacked
from askew_server.tables.rows import LONGEST_ROW, TEXT, TOO_LONG, Batch, Omissions, is_utf8

HEAD = 1 << 20
"""Bytes that say what a file is."""
_LONGEST = 1 << 25  # bytes of a feature
_BATCH = 1 << 17  # rows
_BETWEEN = b" \t\r\n\x1e"  # features in a row
_ESCAPED: Final = re.compile(rb"\\.", re.DOTALL)
_FEATURES: Final = re.compile(rb'"features"\s*:\s*\[')
_NAMES: Final = re.compile(rb'"(?:features|geometry)"\s*:')
_NO_NUMBER: Final = re.compile(rb'("(?:[^"\\]++|\\.)*+"?)|NaN|-?Infinity', re.DOTALL)
"""What stands for a number that no JSON has; or, as its group, a text, which may say the same."""
_QUOTE, _OPENS, _CLOSES = 1, 2, 3
_MEANING: Final = np.zeros(256, np.uint8)
_MEANING[list(b'"')], _MEANING[list(b"{[")], _MEANING[list(b"}]")] = _QUOTE, _OPENS, _CLOSES
_REFUSED = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
COORDINATES: Final = ("longitude", "latitude")
_Object = TypeVar("_Object")


class Feature(msgspec.Struct):
    """A feature; what it lacks is None or empty."""

    geometry: dict[str, Any] | None = None
    properties: dict[str, Any] | None = None
    id: Any = None

    def text(self, name: str) -> str:
        """Return as text a coordinate for the names "longitude" and "latitude", else a property, or
        of "id" without one the feature's id; "" where there is none, or null. What is no text is
        written as JSON without spaces, "true", "[1,2]", and 65.0 as "65".
        """
        if name in COORDINATES:
            at = (self.geometry or {}).get("coordinates")
            number = COORDINATES.index(name)
            value = at[number] if isinstance(at, list) and len(at) > number else None
        else:
            value = (self.properties or {}).get(name)
        if value is None and name == "id":
            value = self.id
        if value is None:
            return ""
        return value if isinstance(value, str) else _text(msgspec.json.encode(value))


def looks_like_json(start: bytes) -> bool:
    """Return True where a file's first bytes, in UTF-8, UTF-16 or UTF-32, open an object or an
    array.
    """
    plain = start.lstrip(b"\xef\xbb\xbf\xff\xfe\0" + _BETWEEN)
    return plain.startswith((b"{", b"["))


def begins_geojson(start: bytes) -> bool:
    """Return True where a file's first bytes, HEAD of them or all, are GeoJSON; False for JSON
    lines. The first line tells, where it is an object by itself: GeoJSON if it has the name
    "geometry" or "features". Else the file is JSON lines, of which the first is bad, where neither
    name occurs and half of the lines or more are objects by themselves.
    """
    opened = start.lstrip(codecs.BOM_UTF8 + _BETWEEN)
    lines = opened.split(b"\n")
    decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    if (fields := _decoded(lines[0], decode)) is not None:
        return bool({"geometry", "features"} & set(fields))
    if _NAMES.search(opened) is not None:
        return True
    if len(start) >= HEAD:
        lines.pop()  # which may go on
    if not lines:
        return opened.startswith(b"[")
    texts = [text for line in lines if (text := line.strip(_BETWEEN))]
    return 2 * sum(_decoded(text, decode) is not None for text in texts) < len(texts)


class JsonFile:
    """GeoJSON, or JSON lines. columns: coordinates, properties by name, and "id" where a feature
    has one; of lines, the names in the order in which they come.

    Raises DataError, which names the file, for GeoJSON that is none or ends too early.
    """

    def __init__(self, path: str, size: int, *, is_geojson: bool) -> None:
        self._path, self._size, self._is_geojson, self._progress = path, size, is_geojson, 0.0
        if is_geojson:
            names, has_ids = set[str](), False
            for feature in features(path, self._blocks()):
                if feature is not None:
                    names.update(feature.properties or ())
                    has_ids |= feature.id is not None
            names = (names | {"id"} if has_ids else names) - set(COORDINATES)
            self.columns = (*COORDINATES, *sorted(names))
        else:
            objects = (row for _, row in _objects(self._blocks()) if not isinstance(row, str))
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
            yield Batch(np.array([row for row, _ in good], np.int64), columns, self._progress)

    def _blocks(self) -> Iterator[bytes]:
        with unpacked(self._path) as (file, raw):
            while block := file.read(BLOCK):
                self._progress = raw.tell() / self._size
                yield block

    # Both yield the texts of a row, or why it is none.

    def _features(self, names: Sequence[str]) -> Iterator[tuple[int, list[str] | str]]:
        for row, feature in enumerate(features(self._path, self._blocks()), 1):
            if feature is None:
                yield row, "it must be a feature of JSON, in UTF-8"
            elif (feature.geometry or {}).get("type") != "Point":
                yield row, "its geometry must be a Point"
            else:
                yield row, [feature.text(name) for name in names]

    def _lines(self, names: Sequence[str]) -> Iterator[tuple[int, list[str] | str]]:
        for row, fields in _objects(self._blocks()):
            if isinstance(fields, str):
                yield row, fields
                continue
            values = [bytes(fields.get(name, b"")) for name in names]
            if any(value.startswith((b"{", b"[")) for value in values):
                yield row, "what is read of it must be texts and numbers"
            else:
                yield row, [_text(value) for value in values]


def features(name: str, blocks: Iterable[bytes]) -> Iterator[Feature | None]:
    """Yield the features of a file, in order; None for one that cannot be read.

    Raises DataError, which names the file, for one that is no GeoJSON or ends too early.
    """
    decode = msgspec.json.Decoder(Feature).decode
    stream, head, count = iter(blocks), b"", 0
    while len(head) < HEAD and (block := next(stream, b"")):
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
    # The bytes from the first feature on, and whether it stands in an array.
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
    raise DataError(
        f"{name}: it begins like JSON, but is neither GeoJSON (a FeatureCollection, an array of"
        " features, or features in a row) nor JSON lines (an object a line); write it as one of"
        " them, as csv or as parquet"
    )


def _cut(text: bytes) -> tuple[list[bytes], bytes, bool]:
    # The whole objects, what is behind them, and whether the array that they stand in goes on.
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


def _decoded(text: bytes, decode: Callable[[bytes], _Object]) -> _Object | None:
    # NaN and infinities, which no JSON has, are null.
    try:
        try:
            return decode(text)
        except msgspec.MsgspecError:
            return decode(_NO_NUMBER.sub(lambda match: match[1] or b"null", text))
    except _REFUSED:
        return None


def _objects(blocks: Iterable[bytes]) -> Iterator[tuple[int, dict[str, msgspec.Raw] | str]]:
    # The number of each line, and its object, or why it has none.
    decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    for number, line in enumerate(_lines_of(blocks), 1):
        if line is None:
            yield number, TOO_LONG.format(LONGEST_ROW)
        elif text := line.removeprefix(codecs.BOM_UTF8).strip(_BETWEEN):
            # What a `Raw` holds was not decoded: what is no UTF-8 would fail later on.
            fields = _decoded(text, decode) if is_utf8(text) else None
            yield number, "it must be one object of JSON, in UTF-8" if fields is None else fields


def _lines_of(blocks: Iterable[bytes]) -> Iterator[bytes | None]:
    # None for a line that is too long, of which no more than the longest row stands in memory.
    begun, length = list[bytes](), 0
    for block in chain(blocks, [b"\n"]):
        *ended, rest = block.split(b"\n")
        for line in ended:
            length += len(line)
            yield b"".join([*begun, line]) if length <= LONGEST_ROW else None
            begun, length = [], 0
        length += len(rest)
        if length <= LONGEST_ROW:
            begun.append(rest)
        else:
            begun.clear()


def _text(value: bytes) -> str:
    # Of a text what it says, of a number what is written, 65.0 as "65"; "" for null and nothing.
    if value.startswith(b'"'):
        return msgspec.json.decode(value, type=str)
    if value in (b"", b"null"):
        return ""
    return re.sub(r"^(-?[0-9]+)\.0+$", r"\1", value.decode())

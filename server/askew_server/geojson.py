"""Points of GeoJSON, one after another: no more of a file stands in memory than a block.

Three shapes: a FeatureCollection, an array of features, and features in a row (GeoJSONSeq, by lines
or by record separators, of RFC 8142).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Final

import msgspec
import numpy as np

from askew.errors import DataError

_LONGEST = 1 << 25  # bytes of a feature
_HEAD = 1 << 20  # bytes that say what a file is
_BETWEEN = b" \t\r\n\x1e"  # features in a row
_ESCAPED: Final = re.compile(rb"\\.", re.DOTALL)
_FEATURES: Final = re.compile(rb'"features"\s*:\s*\[')
_NO_NUMBER: Final = re.compile(rb"(?<=[:,\[])\s*(?:NaN|-?Infinity)\s*(?=[,}\]])")
_QUOTE, _OPENS, _CLOSES = 1, 2, 3
_MEANING: Final = np.zeros(256, np.uint8)
_MEANING[list(b'"')], _MEANING[list(b"{[")], _MEANING[list(b"}]")] = _QUOTE, _OPENS, _CLOSES

Blocks = Callable[[], Iterator[bytes]]
"""A file from its beginning, as it is without compression."""


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
        """Return True for a feature that lies somewhere."""
        return self.geometry is not None and self.geometry.type == "Point"

    def text(self, name: str) -> str:
        """Return a coordinate, a property or else the id as text; nothing is empty text."""
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


COORDINATES: Final = ("longitude", "latitude")


def features(name: str, blocks: Blocks) -> Iterator[list[Feature | None]]:
    """Yield the features of each block of a file; None is one that cannot be read.

    Raises DataError, which names the file, for one that is no GeoJSON or ends too early.
    """
    decode = msgspec.json.Decoder(Feature).decode
    stream, head, found = blocks(), b"", 0
    for block in stream:
        head += block
        if len(head) >= _HEAD:
            break
    rest, is_array = _from_the_first(name, head)
    for block in chain([b""], stream):
        objects, rest, goes_on = _cut(rest + block)
        found += len(objects)
        yield [_decoded(each, decode) for each in objects]
        if is_array and not goes_on:
            return
        if len(rest) > _LONGEST:
            raise DataError(f"{name}: feature {found + 1} has no end within {_LONGEST:,} bytes")
    if is_array or rest.strip(_BETWEEN):
        raise DataError(f"{name}: it ends within feature {found + 1}, or is no GeoJSON there")


def columns(name: str, blocks: Blocks) -> tuple[str, ...]:
    """Return what a file has: coordinates, properties by name, and "id" where a feature has one.

    Raises DataError as `features` does.
    """
    names, has_ids = set[str](), False
    for part in features(name, blocks):
        for each in part:
            if each is not None:
                names.update(each.properties or ())
                has_ids |= each.id is not None
    return (*COORDINATES, *sorted((names | {"id"} if has_ids else names) - set(COORDINATES)))


def looks_like_json(start: bytes) -> bool:
    """Return True for what a text in UTF-8, UTF-16 or UTF-32 begins with, if that is JSON."""
    plain = start.lstrip(b"\xef\xbb\xbf\xff\xfe\0" + _BETWEEN)
    return plain.startswith((b"{", b"["))


def _from_the_first(name: str, start: bytes) -> tuple[bytes, bool]:
    """Return a file from its first feature on, and whether that stands in an array."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in start[:4]:
        raise DataError(f"{name}: it is text in UTF-16 or UTF-32; GeoJSON is UTF-8")
    start = start.removeprefix(b"\xef\xbb\xbf").lstrip(_BETWEEN)
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
    found = [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    return found, text[ends[-1] :] if len(ends) else text, not len(beyond)


def _decoded(text: bytes, decode: Callable[[bytes], Feature]) -> Feature | None:
    """Return a feature, in which NaN and infinities, which no JSON has, are null."""
    try:
        try:
            return decode(text)
        except msgspec.MsgspecError:
            return decode(_NO_NUMBER.sub(b"null", text))
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None

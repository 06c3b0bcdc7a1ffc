"""Counts as people have them, read into names and numbers.

A mapping or a Counter, a pandas Series, a frame or an arrow table of two columns, pairs such as
those of `most_common()`: their names are data. An array or another sequence of numbers: its places
are public. The libraries are known by what their objects can do, and never imported. No message
has a name or a count of the data.

Names are in an order of their own, by kind and then by value, whatever order they came in. It is
the order that breaks ties, so it must not depend on who is in the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from askew.errors import ParameterError
from askew.mechanisms.tally import Counts

Names = Sequence[Any]  # distinct, in the order above
_Key = tuple[str, Any]
_FORMS = (
    "a mapping such as {'tea': 900, 'milk': 7}, a Counter, a pandas Series, a frame or table with "
    "names in its first column and counts in its second, an array, or a list of numbers"
)
_PUBLIC = (
    "given, since names that come from the data can show who brought them: items=[...] with all "
    "names that may be selected, or unknown=True with a delta such as 1e-6"
)
_WHOLE = (
    "whole numbers of people, from 0 to below 2**61 (names are counted by Counter(names) or "
    ".value_counts(); a pandas Series with gaps needs .fillna(0).astype(int))"
)
_UNCOUNTED = (
    "numbers of people, and these are names: Counter(names) or .value_counts() counts them; a frame"
    " or table has names in its first column and counts in its second"
)
_ORDERED = (
    "text, numbers, bytes, dates or tuples of these, with none missing: nothing else has an order"
    " of its own, which decides ties"
)
_DATES = {"date", "datetime", "time", "Timestamp"}
_NO_SEQUENCES = (str, bytes, bytearray, memoryview)
_DISTINCT = "distinct: add up the counts of a name"
_LIMIT = 1 << 61


def named_counts(counts: object, items: object, *, unknown: bool) -> tuple[Names, Counts]:
    """Return two lists: the names, as `in_order` has them, and the count of each; for numbers alone
    without items range(n) and the numbers, an array as it is, else a list of ints.

    unknown: names are those of `counts`, and there are no items; what has no order is left out.
    items: all names that may be selected, public; those that `counts` lacks count 0, and names of
    `counts` that are not among them are ignored, whatever they are: an error would tell that
    somebody brought one. Numbers alone are of as many `items`, in their order.
    Raises ParameterError, also for names with neither items nor `unknown`, for a name twice, and
    for any count that is no whole number from 0 to below 2**61.
    """
    if items is not None and (unknown or items is counts):
        got = "the counts themselves" if items is counts else "items= and unknown=True"
        limit = "a public list of names, made without the data; unknown=True takes none"
        raise ParameterError("items", got, limit)
    listed = None if items is None else _listed(items)
    names, values = _columns(counts)
    if names is None:
        values = _whole_array(values)
        if listed is None:
            return range(len(values)), values
        if len(listed) != len(values) or isinstance(items, (set, frozenset)):
            got = f"{len(listed)} names for {len(values)} counts"
            raise ParameterError("items", got, "a list, as long as the counts and in their order")
        names = listed
    if listed is None:
        if not unknown:
            raise ParameterError("items", None, _PUBLIC)
        return _own(names, values)
    public = in_order(listed, "items")
    counted: dict[_Key | None, int | None] = {_key(name): None for name in public}
    for name, value in zip(names, map(_whole, values), strict=True):
        key = _key(name)
        if key not in counted:
            continue
        if counted[key] is not None:
            raise ParameterError("the names of counts", "one twice", _DISTINCT)
        counted[key] = value
    return public, [count or 0 for count in counted.values()]


def _own(names: Sequence[Any], values: Sequence[Any]) -> tuple[Names, Counts]:
    # A name without an order is left out, as an error would tell that somebody brought it.
    own: dict[_Key, tuple[Any, int]] = {}
    for name, value in zip(names, map(_whole, values), strict=True):
        key = _key(name)
        if key in own:
            raise ParameterError("the names of counts", "one twice", _DISTINCT)
        if key is not None:
            own[key] = _plain(name), value
    rows = [own[key] for key in sorted(own)]
    return [name for name, _ in rows], [count for _, count in rows]


def in_order(names: Sequence[Any], what: str) -> Names:
    """Return names as a list, by kind (Timestamp, bool, bytes, date, datetime, number, text, time,
    tuple), and by value within one: [2, True, "a", 1.5] gives [True, 1.5, 2, "a"].

    Raises ParameterError for those that have no order, such as None and NaN, or are not distinct,
    such as 1 and 1.0.
    """
    keys = [_key(name) for name in names]
    if None in keys:
        raise ParameterError(what, "others", _ORDERED)
    by_key = {key: _plain(name) for key, name in zip(keys, names, strict=True) if key is not None}
    if len(by_key) < len(keys):
        raise ParameterError(what, "one twice", _DISTINCT)
    return [by_key[key] for key in sorted(by_key)]


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def _key(name: Any) -> _Key | None:
    # What orders a name among all that there may be, None where nothing does. The order is total
    # and its own: it asks nothing of the name's class. Baskets as sets, values that are missing or
    # NaN, or a class of somebody's compare in part or not at all, and would stay in the order in
    # which they came, which is the ranking.
    if isinstance(name, np.generic):
        name = name.item() if name.dtype.kind in "biufSU" else None
    if isinstance(name, bool):
        return "bool", name
    if isinstance(name, int):
        return "number", int.__index__(name)
    if isinstance(name, float):
        return None if name != name else ("number", float(name))  # noqa: PLR0124
    if isinstance(name, str):
        return "text", str.__str__(name)
    if isinstance(name, bytes):
        return "bytes", bytes(name)
    if type(name).__name__ in _DATES and hasattr(name, "isoformat"):
        return type(name).__name__, str(name.isoformat())
    if isinstance(name, tuple):
        parts = [_key(part) for part in name]
        return None if None in parts else ("tuple", tuple(parts))
    return None


def _listed(items: Any) -> list[Any]:
    for read in ("to_pylist", "tolist", "to_list"):
        if hasattr(items, read):
            return list(getattr(items, read)())
    if isinstance(items, Iterable) and not isinstance(items, (str, bytes, bytearray)):
        return list(items)
    raise ParameterError("items", type(items).__name__, "a list of names")


def _columns(counts: Any) -> tuple[list[Any] | None, Any]:
    if isinstance(counts, Mapping):
        return [*counts.keys()], [*counts.values()]
    if isinstance(counts, np.ndarray):
        if counts.ndim != 1 or isinstance(counts, np.ma.MaskedArray):
            got = f"{type(counts).__name__} of shape {counts.shape}"
            raise ParameterError("counts", got, "an array of one dimension, without a mask")
        return None, counts
    if len(getattr(counts, "shape", ())) == 2:
        return _two_columns(counts)
    if hasattr(counts, "iloc"):
        if type(counts.index).__name__ == "RangeIndex":  # of values that nobody has counted yet
            limit = "a pandas Series with names as its index, as .value_counts() makes it"
            raise ParameterError("counts", "one without names", limit)
        return counts.index.tolist(), counts.tolist()
    for read in ("to_pylist", "to_list"):  # an arrow array, a polars Series
        if hasattr(counts, read):
            return None, list(getattr(counts, read)())
    if not isinstance(counts, Sequence) or isinstance(counts, _NO_SEQUENCES):
        raise ParameterError("counts", type(counts).__name__, _FORMS)
    if all(isinstance(row, tuple) and len(row) == 2 for row in counts):
        return [name for name, _ in counts], [value for _, value in counts]
    return None, list(counts)


def _two_columns(frame: Any) -> tuple[list[Any], list[Any]]:
    if frame.shape[1] != 2:
        got = f"{frame.shape[1]} columns"
        limit = "a frame of two columns, names and then counts; .reset_index() makes an index one"
        raise ParameterError("counts", got, limit)
    if hasattr(frame, "iloc"):
        return frame.iloc[:, 0].tolist(), frame.iloc[:, 1].tolist()
    if hasattr(frame, "to_series"):
        return frame.to_series(0).to_list(), frame.to_series(1).to_list()
    if hasattr(frame, "column"):
        return frame.column(0).to_pylist(), frame.column(1).to_pylist()
    raise ParameterError("counts", type(frame).__name__, _FORMS)


def _whole(value: object) -> int:
    if isinstance(value, str):
        raise ParameterError("counts", "text", _UNCOUNTED)
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ParameterError("counts", f"a {type(value).__name__}", _WHOLE)
    if not 0 <= value < _LIMIT:
        raise ParameterError("counts", "others", _WHOLE)
    return int(value)


def _whole_array(values: Any) -> Counts:
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iu":
        return [_whole(value) for value in values]
    if len(values) and (values.min() < 0 or values.max() >= _LIMIT):
        raise ParameterError("counts", "others", _WHOLE)
    return values

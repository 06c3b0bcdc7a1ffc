"""What the schema of a log and a public catalog say, without an event, of items that cannot match.

An item matches events that are written in the same bytes, and no others: "65.0" is not 65. Who does
not know it pays for noise. Whether an item has events is private; whether it can have any is not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from askew.errors import DataError
from askew_server.counting.contract import EventSource
from askew_server.counting.dialects import DIALECTS


def remarks(task: EventSource, items: Mapping[str, int], type_name: str, dialect: str) -> list[str]:
    """Return a sentence for each kind of item that may not match, with how many there are.

    items: of the catalog, with how often each stands there. type_name: of the log's item column.
    Raises DataError where no item can match.
    """
    catalog = task.catalog or "the catalog"
    words, sentences = DIALECTS[dialect], []
    if not words.has_text(type_name):
        is_written = _is_uuid if type_name.lower() == "uuid" else _is_integer
        others = [item for item in items if not is_written(item)]
        kind = f"{task.events} has column {task.item_column!r} of the type {type_name}, in which"
        if len(others) == len(items):
            raise DataError(
                f"{kind} no item of {catalog} can be, such as {others[0][:40]!r}: every count would"
                " be zero. Write the catalog's items as the log's column has them"
            )
        if others:
            sentences.append(
                f"{kind} {len(others)} of {len(items)} items of {catalog} cannot be, such as"
                f" {others[0][:40]!r}: nobody can have chosen them."
            )
    if padded := [item for item in items if item != item.strip()]:
        sentences.append(
            f"{len(padded)} items of {catalog} begin or end with a space or a return, such as"
            f" {padded[0][:40]!r}; they match only events that are written so."
        )
    if twice := [item for item, rows in items.items() if rows > 1]:
        sentences.append(
            f"{len(twice)} items of {catalog} stand there more than once, such as"
            f" {twice[0][:40]!r}; each is one item."
        )
    return sentences


def _is_integer(item: str) -> bool:
    """Return True if an engine writes an integer so."""
    return re.fullmatch("0|-?[1-9][0-9]*", item) is not None


def _is_uuid(item: str) -> bool:
    """Return True if an engine writes a UUID so."""
    return re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", item) is not None

"""What a stranger may send: text that is short and plain, and models of a limited size.

Control characters steer terminals, and many combining marks make text slow to compare. The sizes
are public and also hold where no model is loaded.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from askew.errors import OutOfRange

MAX_RANKING_DIMENSION = 256
MAX_DIMENSION = 16  # of a signal
MAX_AXES = 3  # of a metric space
MAX_RATING = 1000.0
VERSION_BYTES = 16

# Of public numbers that a mechanism or a placement is made of: far beyond use, and within what the
# arithmetic and a few seconds can do.
MAX_SELECTED = 2**32 - 1  # items, or rounds: products with counts are far within float64
MAX_PLACED = 100_000  # offsets on the line: a second
MAX_PLACED_DIMENSION = 64  # of a placement: its samples take memory
MAX_SCALE = 1e30  # distances in other units: squares, ratios and their inverses stay floats

DEVICE_BYTES: Final = 4_000_000
"""The largest file that a device holds by default: what is whole within it needs no signal."""
DEFAULT_BYTES: Final = 800_000
"""The file of the default items, where the whole is larger than that: a device holds and ranks as
many within 100 MB of memory (`make bench NAME=thin`).
"""

MAX_TEXT = 500
MAX_NAME = 40
MAX_MARKS = 8  # combining marks in a row: scripts need 4
FEW_MARKS: Final = f"text with at most {MAX_MARKS} combining marks in a row"
_MAY_BE_MARKS = re.compile(f"[^\\x00-\\u02ff]{{{MAX_MARKS + 1},}}")
_ALSO_MARKS = "\u0f73\u0f75\u0f81\uff9e\uff9f"  # of class 0, and marks where they are decomposed


# A soft hyphen, what joins or parts letters (Persian, Hindi, families of emoji) and the marks of a
# direction, which show nothing themselves. Not those that turn or embed a direction: they would
# show a text in another order than its own.
JOINERS: Final = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
_WITHOUT_JOINERS: Final = dict.fromkeys(map(ord, JOINERS))


def is_visible(text: str) -> bool:
    """Return True for text that shows something and holds no control, line break, space but the
    plain one, or character that turns a direction; False for "" and for spaces alone. Joiners such
    as a soft hyphen may stand beside letters. O(length).
    """
    if not text.isprintable():
        text = text.translate(_WITHOUT_JOINERS)
    return text.isprintable() and not text.isspace() and text != ""


def check_text(name: str, text: str, longest: int = MAX_TEXT) -> None:
    """Raise OutOfRange, with this name, unless text is visible and of 1 to `longest` characters,
    500 by default.
    """
    if not (len(text) <= longest and is_visible(text)):
        raise OutOfRange(name, f"printable text of 1 to {longest} characters")


def check_marks(name: str, text: str) -> None:
    """Raise OutOfRange, with this name, if more than 8 combining marks stand in a row."""
    if not has_few_marks(text):
        raise OutOfRange(name, FEW_MARKS)


def check_plain(name: str, text: str, longest: int) -> None:
    """Raise OutOfRange where `check_text` or `check_marks` does."""
    check_text(name, text, longest)
    check_marks(name, text)


def has_few_marks(text: str) -> bool:
    """Return True unless more than 8 characters that `is_mark` names stand in a row. O(length).

    To bring n of them into their order, as `title_key` does, takes n^2 steps: who makes titles
    could say by them who looks one up.
    """
    run = 0
    for part in _MAY_BE_MARKS.findall(text):
        for letter in part:
            run = run + 1 if is_mark(letter) else 0
            if run > MAX_MARKS:
                return False
        run = 0
    return True


def is_mark(character: str) -> bool:
    """Return True if a character has a combining class above 0, as U+0301, or is one of U+0F73,
    U+0F75, U+0F81, U+FF9E and U+FF9F; False for all else, also for marks of class 0, as U+0903.
    """
    return unicodedata.combining(character) > 0 or character in _ALSO_MARKS

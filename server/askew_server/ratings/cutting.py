"""A block of plain lines, cut into fields by the places of its separators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askew_server.ratings.formats import TextFormat
from askew_server.ratings.rows import Flags
from askew_server.ratings.words import LONGEST, Places, Words, words_of

_FEED, _QUOTE = ord("\n"), ord('"')
_PADDING = bytes(LONGEST)


@dataclass(frozen=True, eq=False)
class CutLines:
    """The lines of a block, n of them. starts, ends: where each starts and ends (n,).

    A line is regular when it has as many separators as the format says and, in csv, no quotes but
    two around whole fields.
    regular: which ones are (n,); marks: the places of separators and
    end in each regular one (r, m); separator: how many bytes it has; quoted: whether fields may be.
    """

    padded: bytes
    starts: Places
    ends: Places
    regular: Flags
    marks: NDArray[np.intp]
    separator: int
    quoted: bool

    def words(self, field: int) -> tuple[Words, Flags]:
        """A field of each regular line, and whether it is there: one beyond LONGEST is left out."""
        mark = field * self.separator
        starts = self.marks[:, mark - 1] + 1 if field else self.starts[self.regular]
        sizes = self.marks[:, mark] - starts
        if self.quoted:
            quoted = np.frombuffer(self.padded, np.uint8)[starts] == _QUOTE
            starts, sizes = starts + quoted, sizes - 2 * quoted
        there = sizes <= LONGEST
        return words_of(self.padded, starts, sizes * there), there

    def line(self, at: int) -> bytes:
        """The bytes of a line, regular or not."""
        return self.padded[int(self.starts[at]) : int(self.ends[at])]


def cut(block: bytes, text: TextFormat) -> CutLines:
    """Cuts a block, which is empty or ends with a line feed."""
    codes, separator = np.frombuffer(block, np.uint8), text.separator.encode()
    feeds = codes == _FEED
    places = np.flatnonzero(feeds | (codes == separator[0]))
    last = np.flatnonzero(feeds[places])  # of each line
    ends = places[last]
    starts = np.append(0, ends + 1)[:-1]
    a_line = (text.n_fields - 1) * len(separator) + 1
    regular = np.diff(last, prepend=-1) == a_line
    if regular.all():
        marks = places.reshape(-1, a_line)
    else:
        marks = places[last[regular][:, None] + np.arange(1 - a_line, 1)]
    for of_separator in range(1, len(separator)):  # all of its characters are the same
        apart = marks[:, of_separator : -1 : len(separator)] - marks[:, : -1 : len(separator)]
        whole = (apart == of_separator).all(axis=1)
        regular[regular] = whole
        marks = marks[whole]
    quoted = text.separator == "," and b'"' in block
    if quoted:
        quotes = np.searchsorted(ends, np.flatnonzero(codes == _QUOTE))
        firsts = np.column_stack([starts[regular], marks[:, :-1] + 1])
        around = (codes[firsts] == _QUOTE) & (codes[marks - 1] == _QUOTE) & (marks - firsts > 1)
        whole = np.bincount(quotes, minlength=len(ends))[regular] == 2 * around.sum(axis=1)
        regular[regular] = whole
        marks = marks[whole]
    return CutLines(block + _PADDING, starts, ends, regular, marks, len(separator), quoted)

"""The words of titles as numbers: what is typed is looked for in each distinct word once, and then
among numbers, 8 bytes a word: the words of each title, and the titles of each word (an inverted
index). No title is read.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from askew_client.profile.vocabulary import Mask, Numbers, Vocabulary

_FIRST, _MOST = 1 << 10, 1 << 14  # lines at once: few where many are found, many where few are
_INVERTED = 1 << 19  # words at once
_OFTEN = 16  # words: where one of so many is meant, lines are gone through, and few looked at

Lines = NDArray[np.int32]


class WordLines:
    """Lines of words, such as titles: which have some words, or begin with them."""

    def __init__(self, lines: Iterable[Sequence[str]]) -> None:
        numbers: dict[str, int] = {}
        words, starts = array("i"), array("i", [0])
        for line in lines:
            words.extend([numbers.setdefault(word, len(numbers)) for word in line or ("",)])
            starts.append(len(words))
        self._vocabulary = Vocabulary(numbers)
        del numbers  # before as much again is needed
        self._words, self._starts = np.frombuffer(words, np.int32), np.frombuffer(starts, np.int32)
        self._lines, self._ends = _inverted(self._words, self._starts, len(self._vocabulary))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def having(self, parts: Iterable[str]) -> Iterator[int]:
        """The lines, ascending, in which each of these parts is in some word."""
        masks = sorted(map(self._vocabulary.containing, parts), key=self._occurrences)
        if not masks:
            yield from range(len(self))
            return
        rare = [mask for mask in masks if self._is_rare(mask)]
        for lines in self._looked_up(rare) if rare else self._gone_through(masks[0]):
            yield from self._having(lines, masks[max(1, len(rare)) :]).tolist()

    def beginning(self, words: Sequence[str], among: Sequence[int] | None = None) -> Iterator[int]:
        """The lines, ascending, of all or of some, that begin with these words, the last one cut
        off at will.
        """
        if among is None and not words:
            yield from range(len(self))
            return
        for lines in self._opened_by(words) if among is None else [np.array(among, np.int32)]:
            yield from self._narrowed(lines, words).tolist()

    def _opened_by(self, words: Sequence[str]) -> Iterator[Lines]:
        """The lines, ascending, that have the first of these words."""
        mask = self._vocabulary.beginning(words[0], end=len(words) > 1)
        return self._looked_up([mask]) if self._is_rare(mask) else self._gone_through(mask)

    def _narrowed(self, lines: Lines, words: Sequence[str]) -> Lines:
        """Of these lines those that begin with these words, the last one cut off at will."""
        for at, word in enumerate(words):
            lines = lines[self._starts[lines + 1] - self._starts[lines] > at]
            numbers, last = self._words[self._starts[lines] + at], at == len(words) - 1
            lines = lines[self._vocabulary.begin(numbers, word, end=not last)]
        return lines

    def _occurrences(self, mask: Mask) -> int:
        """How often words that are meant occur."""
        return int(np.diff(self._ends) @ mask)

    def _is_rare(self, mask: Mask) -> bool:
        return self._occurrences(mask) * _OFTEN <= len(self._words)

    def _looked_up(self, masks: Iterable[Mask]) -> Iterator[Lines]:
        """The lines, ascending, some at a time, that have a word that is meant by each mask."""
        found = np.ones(len(self), bool)
        for mask in masks:
            words, having = np.flatnonzero(mask), np.zeros(len(self), bool)
            having[self._lines[_each_of(self._ends[words], self._ends[words + 1])]] = True
            found &= having
        lines = np.flatnonzero(found).astype(np.int32)
        return (lines[first:last] for first, last in _pieces(len(lines)))

    def _gone_through(self, mask: Mask) -> Iterator[Lines]:
        """The lines, ascending, some at a time, that have a word that is meant: who needs few looks
        at few.
        """
        for first, last in _pieces(len(self)):
            starts = self._starts[first : last + 1]
            words = self._words[starts[0] : starts[-1]]
            hits = np.flatnonzero(mask.take(words, mode="wrap"))  # twice as fast as what checks
            lines = first - 1 + np.searchsorted(starts, hits + starts[0], side="right")
            yield lines[np.diff(lines, prepend=-1) > 0].astype(np.int32)

    def _having(self, lines: Lines, masks: Iterable[Mask]) -> Lines:
        """Of these lines, which have words, those that have one that is meant by each mask."""
        for mask in masks:
            if not len(lines):
                break
            starts, ends = self._starts[lines], self._starts[lines + 1]
            meant, firsts = mask[self._words[_each_of(starts, ends)]], np.cumsum(ends - starts)
            lines = lines[np.logical_or.reduceat(meant, firsts - (ends - starts))]
        return lines


def _pieces(count: int) -> Iterator[tuple[int, int]]:
    first, size = 0, _FIRST
    while first < count:
        yield first, min(first + size, count)
        first, size = first + size, min(2 * size, _MOST)


def _each_of(starts: Numbers, ends: Numbers) -> Numbers:
    """Every number from each start to before its end, one run behind the other."""
    sizes = ends - starts
    before = np.cumsum(sizes, dtype=np.int32) - sizes
    return np.arange(sizes.sum(), dtype=np.int32) + np.repeat(starts - before, sizes)


def _inverted(words: Numbers, starts: Numbers, count: int) -> tuple[Lines, Numbers]:
    """The lines of word 0, ascending, then those of word 1 and so on; and where each word's begin,
    with the end. O(n log n) for n words of lines, some at a time, in less memory.
    """
    ends = np.append(0, np.cumsum(np.bincount(words, minlength=count))).astype(np.int32)
    inverted = np.empty(len(words), np.int32)
    cuts = np.searchsorted(ends, np.arange(0, len(words), _INVERTED))
    for first, last in pairwise(np.unique([*cuts, count]).tolist()):
        places = np.flatnonzero((words >= first) & (words < last))
        lines = np.searchsorted(starts, places, side="right") - 1
        pairs = words[places].astype(np.int64) << 32 | lines
        pairs.sort()
        inverted[ends[first] : ends[last]] = pairs & 0xFFFFFFFF
    return inverted, ends

"""The words of titles as numbers: what is typed is looked for in each distinct word once, and then
among numbers, 4 bytes a word. No title is read.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

_END = b"\n"  # in no word: it is blank
_FIRST, _MOST = 1 << 10, 1 << 14  # lines at once: few where many are found, many where few are
_SAMPLE = 1 << 14  # words that say how common a word is

Mask = NDArray[np.bool_]  # of each distinct word, whether it is meant
Lines = NDArray[np.int64]


class Vocabulary:
    """Distinct words, by numbers from 0 on."""

    def __init__(self, words: Iterable[str]) -> None:
        text = _END + "".join([f"{word}\n" for word in words]).encode()
        self._text = np.frombuffer(text, np.uint8)
        self._starts = (np.flatnonzero(self._text == _END[0])[:-1] + 1).astype(np.int32)

    def containing(self, part: str) -> Mask:
        """The words that have this part."""
        return self._with(self._found(_encoded(part)))

    def beginning(self, part: str) -> Mask:
        """The words that begin so."""
        return self._with(self._found(_END + _encoded(part)) + 1)

    def being(self, word: str) -> Mask:
        """This word, if it is one."""
        return self._with(self._found(_END + _encoded(word) + _END) + 1)

    def _with(self, places: Lines) -> Mask:
        """The words that have these places of the text."""
        mask = np.zeros(len(self._starts), bool)
        mask[np.searchsorted(self._starts, places, side="right") - 1] = True
        return mask

    def _found(self, part: bytes) -> Lines:
        """Where a part begins. O(length of all words)."""
        text = self._text
        last = max(0, len(text) - len(part) + 1)
        begun = text[:last] == part[0]
        if len(part) > 1:  # before places are made: many have the first letter
            begun &= text[1 : last + 1] == part[1]
        places = np.flatnonzero(begun)
        for further, byte in enumerate(part[2:], 2):
            places = places[text[places + further] == byte]
        return places


class WordLines:
    """Lines of words, such as titles: which have some words, or begin with them."""

    def __init__(self, lines: Iterable[Sequence[str]]) -> None:
        numbers: dict[str, int] = {}
        words, starts, firsts = array("i"), array("i", [0]), array("i")
        for line in lines:
            some = [numbers.setdefault(word, len(numbers)) for word in line or ("",)]
            words.extend(some)
            starts.append(len(words))
            firsts.append(some[0])
        self._vocabulary = Vocabulary(numbers)
        self._words, self._starts = np.frombuffer(words, np.int32), np.frombuffer(starts, np.int32)
        self._firsts = np.frombuffer(firsts, np.int32)

    def __len__(self) -> int:
        return len(self._firsts)

    def having(self, parts: Iterable[str]) -> Iterator[int]:
        """The lines, ascending, in which each of these parts is in some word."""
        masks = sorted(map(self._vocabulary.containing, parts), key=self._commonness)
        for first, last in self._pieces():
            lines = self._anchored(first, last, masks[0]) if masks else np.arange(first, last)
            for mask in masks[1:]:
                lines = lines[self._any(lines, mask)]
            yield from lines.tolist()

    def beginning(self, words: Sequence[str], among: Sequence[int] | None = None) -> Iterator[int]:
        """The lines, ascending, of all or of some, that begin with these words, the last one cut
        off at will.
        """
        masks: list[Mask] = []
        for left, word in zip(reversed(range(len(words))), words, strict=True):
            mask = self._vocabulary.being(word) if left else self._vocabulary.beginning(word)
            if not mask.any():
                return
            masks.append(mask)
        some = self._opened_by(masks[:1]) if among is None else [np.array(among, np.int64)]
        for lines in some:
            yield from self._narrowed(lines, masks).tolist()

    def _narrowed(self, lines: Lines, masks: Sequence[Mask]) -> Lines:
        """Of these lines those whose first words are meant, each by its mask."""
        for at, mask in enumerate(masks):
            lines = lines[self._starts[lines + 1] - self._starts[lines] > at]
            lines = lines[mask[self._words[self._starts[lines] + at]]]
        return lines

    def _opened_by(self, mask: Sequence[Mask]) -> Iterator[Lines]:
        """All lines, or those whose first word is meant."""
        for first, last in self._pieces():
            if mask:
                yield first + np.flatnonzero(mask[0].take(self._firsts[first:last], mode="wrap"))
            else:
                yield np.arange(first, last)

    def _pieces(self) -> Iterator[tuple[int, int]]:
        """All lines, some at a time, so that who needs few looks at few."""
        first, size = 0, _FIRST
        while first < len(self):
            yield first, min(first + size, len(self))
            first, size = first + size, min(2 * size, _MOST)

    def _commonness(self, mask: Mask) -> int:
        """So that the fewest lines are looked at for the other words."""
        return int(np.count_nonzero(mask[self._words[:_SAMPLE]]))

    def _anchored(self, first: int, last: int, mask: Mask) -> Lines:
        """The lines from first to before last that have a word that is meant."""
        starts = self._starts[first : last + 1]
        words = self._words[starts[0] : starts[-1]]
        hits = np.flatnonzero(mask.take(words, mode="wrap"))  # twice as fast as what checks
        lines: Lines = first - 1 + np.searchsorted(starts, hits + starts[0], side="right")
        return lines[np.diff(lines, prepend=-1) > 0]

    def _any(self, lines: Lines, mask: Mask) -> Mask:
        """Whether each line, which has words, has one that is meant."""
        if not len(lines):
            return np.zeros(0, bool)
        sizes = self._starts[lines + 1] - self._starts[lines]
        firsts = np.cumsum(sizes) - sizes
        places = np.arange(sizes.sum()) + np.repeat(self._starts[lines] - firsts, sizes)
        found: Mask = np.logical_or.reduceat(mask[self._words[places]], firsts)
        return found


def _encoded(word: str) -> bytes:
    """What a terminal made of bytes that are no text is in no word."""
    return word.encode(errors="surrogatepass")

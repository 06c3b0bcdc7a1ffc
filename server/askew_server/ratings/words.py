"""Texts as numbers: a table of the different ones, without a Python object for each row.

A text is its bytes, eight to a word, the last filled up with NULs, which no text here has.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askew.randomness import RandomBits

Words = list[NDArray[np.uint64]]
"""The first word of each text, the second of each, and so on."""
Numbers = NDArray[np.int32]
Places = NDArray[np.intp]

WORD = 8
LONGEST = 16 * WORD
"""Bytes of a text; a block may have one that makes all others of it as long."""

_SLOTS = 1 << 16
_SLOTS_A_TEXT = 4  # so that a place is mostly free or the text's own
_OF_BYTES = np.array([(1 << 8 * size) - 1 for size in range(WORD + 1)], np.uint64)


def words_of(padded: bytes, starts: Places, sizes: Places) -> Words:
    """The texts of these sizes at these places of bytes, after which LONGEST more can be read."""
    at_any_byte = np.ndarray((len(padded) - WORD + 1,), "<u8", padded, strides=(1,))
    words = []
    for done in range(0, int(sizes.max(initial=1)), WORD):
        word = at_any_byte[starts + done if done else starts]  # take() would copy all of it first
        word &= _OF_BYTES.take(sizes - done if done else sizes, mode="clip")
        words.append(word)
    return words


def texts_of(words: Words) -> list[bytes]:
    """The texts again."""
    rows = np.stack([word.astype("<u8", copy=False) for word in words], axis=1)
    texts: list[bytes] = rows.view(f"S{WORD * len(words)}").ravel().tolist()
    return texts


class TextTable:
    """Numbers texts as they come; number 0 is the empty text, though it may get another as well.

    Open addressing, whole columns at a time: a slot holds the number of a text, or 0. The places
    come of random odd factors, so that nobody can write texts that all want the same one.
    """

    def __init__(self, bits: RandomBits) -> None:
        factors = np.frombuffer(bits.read(LONGEST + WORD), np.uint64)
        self._factors = factors | np.uint64(1)
        self._slots = np.zeros(_SLOTS, np.int32)
        self._words: Words = [np.zeros(_SLOTS // _SLOTS_A_TEXT, np.uint64)]
        self._size = 1

    def __len__(self) -> int:
        return self._size

    def numbers(self, words: Words) -> Numbers:
        """The number of each text; those of new ones go on from the last."""
        self._make_room(len(words), len(words[0]))
        place = self._homes(words)
        number = self._slots.take(place)
        rows = np.flatnonzero(self._differ(number, words))
        while rows.size:
            some, here = [word[rows] for word in words], place[rows]
            self._claim(here, some)
            number[rows] = found = self._slots.take(here)
            rows = rows[self._differ(found, some)]
            place[rows] = self._next(place[rows])
        return number

    def texts(self, first: int) -> list[bytes]:
        """The texts from a number on."""
        return texts_of([word[first : self._size] for word in self._words])

    def _claim(self, places: Places, words: Words) -> None:
        """Gives the slots that are free to new texts; of several, to the first."""
        free = np.flatnonzero(self._slots.take(places) == 0)
        if not free.size:
            return
        wanted, order = places[free], np.arange(1, free.size + 1, dtype=np.int32)
        self._slots[wanted[::-1]] = order[::-1]  # the last to be written stays
        first = self._slots.take(wanted) == order
        new, end = free[first], self._size + int(np.count_nonzero(first))
        self._slots[wanted[first]] = np.arange(self._size, end, dtype=np.int32)
        for known, word in zip(self._words, words, strict=False):
            known[self._size : end] = word[new]
        self._size = end

    def _differ(self, number: Numbers, words: Words) -> NDArray[np.bool_]:
        """Which texts are not those of the numbers."""
        differs: NDArray[np.bool_] = self._words[0].take(number) != words[0]
        for at, known in enumerate(self._words[1:], 1):
            differs |= known.take(number) != (words[at] if at < len(words) else 0)
        return differs

    def _homes(self, words: Words) -> Places:
        """Where each text is looked for first, which more words of nothing do not change."""
        mixed = words[0] * self._factors[0]
        for word, factor in zip(words[1:], self._factors[1:], strict=False):
            mixed += word * factor
        mixed ^= mixed >> np.uint64(32)
        mixed *= self._factors[-1]
        mixed >>= np.uint64(65 - len(self._slots).bit_length())
        places: Places = mixed.view(np.intp)
        return places

    def _next(self, places: Places) -> Places:
        after: Places = (places + 1) & (len(self._slots) - 1)
        return after

    def _make_room(self, width: int, rows: int) -> None:
        """For so many words a text, and for as many new texts as there are rows."""
        self._words += [np.zeros_like(self._words[0]) for _ in range(len(self._words), width)]
        slots = len(self._slots)
        while slots < _SLOTS_A_TEXT * (self._size + rows):
            slots *= 2
        if slots > len(self._slots):
            self._words = [_longer(word, slots // _SLOTS_A_TEXT) for word in self._words]
            self._slots = np.zeros(slots, np.int32)
            self._enter()

    def _enter(self) -> None:
        """Gives every text a slot, all of which are free."""
        place = self._homes([word[: self._size] for word in self._words])
        rows = np.arange(1, self._size, dtype=np.int32)
        while rows.size:
            free = rows[self._slots.take(place[rows]) == 0]
            self._slots[place[free]] = free
            rows = rows[self._slots.take(place[rows]) != rows]
            place[rows] = self._next(place[rows])


def _longer(word: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    return np.concatenate([word, np.zeros(size - len(word), np.uint64)])

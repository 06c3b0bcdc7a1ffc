"""Distinct words as one text, in which a part is looked for once for all of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_END = b"\n"  # in no word: it is blank
_MANY = 64  # bytes of text: where a part is in more than one of so many, words are gone through

Mask = NDArray[np.bool_]  # of each word, whether it is meant
Numbers = NDArray[np.integer]


class Vocabulary:
    """Distinct words, by numbers from 0 on."""

    def __init__(self, words: Iterable[str]) -> None:
        text = _END + "".join([f"{word}\n" for word in words]).encode()
        self._text = np.frombuffer(text, np.uint8)
        self._starts = (np.flatnonzero(self._text == _END[0])[:-1] + 1).astype(np.int32)

    def __len__(self) -> int:
        return len(self._starts)

    def containing(self, part: str) -> Mask:
        """The words that have this part. O(length of all words)."""
        wanted = _encoded(part)
        begun = self._begun(wanted)
        if len(wanted) < 3 and np.count_nonzero(begun) > len(begun) // _MANY:
            found: Mask = np.logical_or.reduceat(begun, self._starts)
            return found
        return self._with(self._places(wanted, begun))

    def beginning(self, part: str, *, end: bool) -> Mask:
        """The words that begin so, and end with it."""
        wanted = _END + _encoded(part) + end * _END
        return self._with(self._places(wanted, self._begun(wanted)) + 1)

    def begin(self, words: Numbers, part: str, *, end: bool) -> Mask:
        """Which of these words begin so, and end with it."""
        starts, every = self._starts[words], np.arange(len(words))
        for further, byte in enumerate(_encoded(part) + end * _END):  # none has ended before
            on = self._text[starts + further] == byte
            starts, every = starts[on], every[on]
        found = np.zeros(len(words), bool)
        found[every] = True
        return found

    def _begun(self, part: bytes) -> Mask:
        """Of each byte of the text, whether the first two of a part are there."""
        text = self._text
        begun: Mask = text == part[0]
        if len(part) > 1:  # before places are made: many have the first
            begun[:-1] &= text[1:] == part[1]
            begun[-1] = False
        return begun

    def _places(self, part: bytes, begun: Mask) -> Numbers:
        """Where a part begins."""
        places = np.flatnonzero(begun)
        for further, byte in enumerate(part[2:], 2):
            places = places[self._text.take(places + further, mode="clip") == byte]
        return places

    def _with(self, places: Numbers) -> Mask:
        """The words that have these places of the text."""
        mask = np.zeros(len(self), bool)
        mask[np.searchsorted(self._starts, places, side="right") - 1] = True
        return mask


def _encoded(word: str) -> bytes:
    """What a terminal made of bytes that are no text is in no word."""
    return word.encode(errors="surrogatepass")

"""Which of a person's ratings make a profile: by their own items and the seed, rating by rating."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from askew_server.taste.training import factors
from askew_server.taste.training.factors import Histories, snapshot

SEED, WORD = 5, 2**64
SEEN = (np.random.default_rng(2).random((60, 40)) < 0.3).astype(np.float64)
SEEN[[0, 17, 59]] = 0  # people without ratings, who have no profile
LIKES = SEEN * (np.random.default_rng(3).random(SEEN.shape) < 0.4)
LIKES[[5, 20]] = 0  # who only dislike what they have rated have none either


def scrambled(number: int) -> int:
    """The finalizer of splitmix64, in Python's own numbers."""
    mixed = (number + 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9 % WORD
    mixed = (mixed ^ (mixed >> 30)) * 0x94D049BB133111EB % WORD
    return mixed ^ (mixed >> 31)


def shown(items: list[int]) -> list[int]:
    """Of one person's items."""
    words = {item: scrambled(item + SEED) for item in items}
    own = scrambled(sum(words.values()) % WORD)
    return [item for item, word in words.items() if scrambled(word ^ own) < 0.8 * WORD]


@pytest.mark.parametrize("at_once", [1, 7, 100, 10**6])
def test_a_profile_is_what_the_rule_leaves_of_each_person(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bugs: the last person of each part is left out; the words of the part before; people
    who like nothing that is shown are kept.
    """
    monkeypatch.setattr(factors, "_RATINGS", at_once)
    made = snapshot(Histories(csr_array(LIKES), csr_array(SEEN)), SEED)
    mask = np.zeros(SEEN.shape)
    for person, row in enumerate(SEEN):
        mask[person, shown(np.flatnonzero(row).tolist())] = 1
    some = (LIKES * mask).any(axis=1)
    assert np.array_equal((SEEN * mask)[some], made.seen.toarray())
    assert np.array_equal((LIKES * mask)[some], made.likes.toarray())

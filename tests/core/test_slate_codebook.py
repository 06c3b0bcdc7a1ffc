"""What slates mean, and which one a person names."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from small_world import made_codebook, made_space

from askew.dp.privacy import Reach
from askew.errors import OutOfRange
from askew.limits import MAX_BUCKETS, MAX_RANKING_DIMENSION
from askew.noise.randomized_response import RandomizedResponse
from askew.retrieval.buckets import labels_of
from askew.spaces.buckets import MAX_CODEBOOK_ITEMS, SlateCodebook
from askew.spaces.vectors import fold_in

Vectors = NDArray[np.float32]
NOTHING = np.empty((0, 2), dtype=np.float32)


def vectors(*rows: tuple[float, ...]) -> Vectors:
    return np.array(rows, dtype=np.float32)


def test_a_slate_is_as_good_as_its_best_item() -> None:
    """Planted bug: the sum of a slate's scores, as a linear encoder would have it."""
    one_hit = [(4.0, 0.0), (-4.0, 0.0), (-4.0, 0.0)]
    all_fair = [(2.0, 0.0), (2.0, 0.0), (2.0, 0.0)]
    slates = made_codebook([all_fair, one_hit])
    assert slates.of(np.array([1.0, 0.0]), NOTHING) == 1


def test_a_boost_counts() -> None:
    slates = made_codebook([[(1.0, 0.0)], [(0.5, 0.0)]], boosts=[[1.0], [4.0]])
    assert slates.of(np.array([1.0, 0.0]), NOTHING) == 1


def test_equal_slates_give_the_lower() -> None:
    slates = made_codebook([[(0.0, 1.0)], [(1.0, 0.0)], [(1.0, 0.0)]])
    assert slates.of(np.array([1.0, 0.0]), NOTHING) == 1
    assert slates.of(np.zeros(2), NOTHING) == 0


def test_what_is_seen_recommends_no_slate() -> None:
    """Planted bug: people name the slate of what they know best, where nothing is left for them."""
    slates = made_codebook([[(4.0, 0.0), (1.0, 0.0)], [(2.0, 0.0), (0.0, 1.0)]])
    taste = np.array([1.0, 0.0])
    assert slates.of(taste, NOTHING) == 0
    assert slates.of(taste, vectors((4.0, 0.0))) == 1
    assert slates.of(taste, vectors((4.0, 0.0), (2.0, 0.0))) == 0


def test_a_slate_of_which_all_is_seen_is_worse_than_one_of_dislikes() -> None:
    slates = made_codebook([[(4.0, 0.0)], [(-4.0, 0.0)]])
    assert slates.of(np.array([1.0, 0.0]), vectors((4.0, 0.0))) == 1


def test_items_are_found_by_their_vectors_the_first_of_equals() -> None:
    slates = made_codebook([[(1.0, 0.0), (0.0, 1.0)], [(1.0, 0.0), (2.0, 2.0)]])
    among = vectors((0.0, 1.0), (3.0, 3.0), (1.0, 0.0), (1.0, 0.0))
    assert slates.found_in(among).tolist() == [[2, 0], [2, -1]]
    assert slates.found_in(NOTHING).tolist() == [[-1, -1], [-1, -1]]


def test_many_people_name_what_each_device_names() -> None:
    """The server reckons for all of its people at once what a device reckons for one."""
    rng = np.random.default_rng(3)
    catalog = rng.integers(-8, 8, size=(30, 4)).astype(np.float32)
    slates = SlateCodebook(catalog[:12].reshape(4, 3, 4), np.ones((4, 3), np.float32))
    tastes, seen = rng.normal(size=(50, 4)), rng.random((50, 30)) < 0.4
    known = seen[:, slates.found_in(catalog)]
    each = [slates.of(u, catalog[rows]) for u, rows in zip(tastes, seen, strict=True)]
    assert labels_of(slates, tastes, known).tolist() == each
    assert len(set(each)) == 4
    unseen = [slates.of(taste, catalog[:0]) for taste in tastes]
    assert labels_of(slates, tastes).tolist() == unseen != each


def test_a_profile_names_a_slate_by_all_that_was_rated_liked_or_not() -> None:
    """Planted bug: only likes are taken for seen."""
    catalog = vectors((1.0, 0.0, 0.0), (1.75, 0.0, 0.0), (1.5, 0.25, 0.0))
    space = made_space(buckets=made_codebook([[(1.75, 0, 0)], [(1.5, 0.25, 0)]]))
    assert fold_in({0: 5}, catalog, space).bucket == 0
    assert fold_in({0: 5, 1: 1}, catalog, space).bucket == 1
    assert fold_in({0: 5, 1: 5}, catalog, space).bucket == 1


def test_a_slate_is_named_by_randomized_response_whatever_it_means() -> None:
    """The guarantee is the mechanism's: plain epsilon is the logarithm of its odds."""
    space = made_space(buckets=made_codebook([[(1.0, 0, 0)], [(0, 1.0, 0)], [(0, 0, 1.0)]]))
    response = RandomizedResponse(space.n_buckets, Fraction(3))
    loss = response.privacy_loss(Reach(Fraction(1), Fraction(1)))
    assert response.buckets == 3
    assert float(loss.epsilon) == pytest.approx(np.log(3), abs=1e-11)


def many(slates: int, k: int, dimension: int) -> dict[str, Vectors]:
    boosts = np.ones((slates, k), np.float32)
    return {"vectors": np.ones((slates, k, dimension), np.float32), "boosts": boosts}


BAD: dict[str, dict[str, Any]] = {
    "one slate": many(1, 3, 2),
    "no items": many(2, 0, 2),
    "no dimensions": many(2, 3, 0),
    "too many slates": many(MAX_BUCKETS + 1, 1, 1),
    "too many items": many(2, MAX_CODEBOOK_ITEMS // 2 + 1, 1),
    "too many dimensions": many(2, 1, MAX_RANKING_DIMENSION + 1),
    "no slates but items": {"vectors": np.ones((4, 2)), "boosts": np.ones((4, 2))},
    "a vector of nan": many(2, 1, 2) | {"vectors": np.full((2, 1, 2), np.nan)},
    "a large vector": many(2, 1, 2) | {"vectors": np.full((2, 1, 2), 2000.0)},
    "other boosts": many(2, 2, 2) | {"boosts": np.ones((2, 1))},
    "a boost of zero": many(2, 1, 2) | {"boosts": np.zeros((2, 1))},
    "an infinite boost": many(2, 1, 2) | {"boosts": np.full((2, 1), np.inf)},
    "a boost of nan": many(2, 1, 2) | {"boosts": np.full((2, 1), np.nan)},
}


@pytest.mark.parametrize("case", BAD)
def test_slates_that_no_device_should_use_are_refused(case: str) -> None:
    with pytest.raises(OutOfRange):
        SlateCodebook(**BAD[case])


def test_the_most_that_is_accepted_is_accepted() -> None:
    assert len(SlateCodebook(**many(2, MAX_CODEBOOK_ITEMS // 2, 1))) == 2
    assert len(SlateCodebook(**many(MAX_BUCKETS, 1, 1))) == MAX_BUCKETS


def test_slates_cannot_be_changed_through_their_arrays_and_print_nothing_large() -> None:
    given = many(2, 1, 2)
    slates = SlateCodebook(**given)
    given["vectors"][0] = 5.0
    assert slates.vectors.max() == 1.0
    with pytest.raises(ValueError, match="read-only"):
        slates.boosts[0, 0] = 5.0
    assert "array" not in repr(slates)


def test_slates_of_other_tastes_do_not_fit_a_space() -> None:
    with pytest.raises(OutOfRange, match="the directions of buckets"):
        made_space(buckets=made_codebook([[(1.0, 0.0)], [(0.0, 1.0)]]))


@pytest.mark.parametrize("part", ["vectors", "boosts"])
def test_what_slates_mean_is_part_of_a_spaces_version(part: str) -> None:
    slates = made_codebook([[(1.0, 0, 0)], [(0, 1.0, 0)]])
    other = dataclasses.replace(slates, **{part: 2 * getattr(slates, part)})
    assert made_space(buckets=slates).version != made_space(buckets=other).version
    assert made_space(buckets=slates) == made_space(buckets=dataclasses.replace(slates))

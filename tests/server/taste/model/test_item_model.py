"""The model, on matrices small enough to check by hand or by brute force."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from scipy.stats import norm

from askew.catalog.catalog_file import HEAD_BYTES
from askew.catalog.item import Item
from askew.errors import DataError, ParameterError
from askew.spaces.vectors import Profile, RatingScale, fold_in
from askew.wire.catalog_file import catalog_from_body, catalog_to_bytes
from askew_server.ratings import RatingTable, read_items, titled
from askew_server.taste import shared_slate as slates
from askew_server.taste.evaluation import split_people
from askew_server.taste.model import ItemModel, train
from askew_server.taste.options import TrainingOptions
from askew_server.taste.people import Tastes, fold_in_people, histories_of, sample_profiles
from askew_server.taste.shared_slate import catalog_items

NAN = float("nan")
Matrix = NDArray[np.float64]
TableOf = Callable[[Matrix], RatingTable]
PLANE = TrainingOptions(dimension=2, min_ratings=5, least_likes=4)
LINE = TrainingOptions(dimension=1, min_ratings=1, least_likes=1)


def profiles_of(model: ItemModel, matrix: Matrix) -> list[Profile]:
    """The people of a matrix as their own devices see them."""
    everybody = [
        {item: rating for item, rating in enumerate(row) if not math.isnan(rating)}
        for row in matrix.tolist()
    ]
    return [fold_in(own, model.catalog.vectors, model.card.space) for own in everybody if own]


def test_scores_are_those_of_ease(model: ItemModel, matrix: Matrix) -> None:
    """Against its formula, for each like alone: B = I - P diag(1 / P), but for a factor, for what
    the last of 24 dimensions would say, and for the rounding to 4 bits. A like is 4 or more.
    """
    likes = (np.nan_to_num(matrix) >= 4).astype(float)
    penalty = model.training.penalty or 0
    inverse = np.linalg.inv(likes.T @ likes + penalty * np.eye(24))
    exact = -inverse / np.diag(inverse)
    np.fill_diagonal(exact, 0)
    ours = model.catalog.vectors @ model.catalog.scoring.T
    np.fill_diagonal(ours, 0)
    assert np.corrcoef(ours.ravel(), exact.ravel())[0, 1] > 0.85


def test_the_unit_of_distance_is_the_median_between_two_people(
    model: ItemModel, matrix: Matrix
) -> None:
    """All 1,770 pairs of people with all their ratings, against 20,000 pairs of snapshots of them.

    Within 15 %: snapshots have fifth fewer likes. Training is deterministic, so this cannot fail by
    chance later. Planted bug: the mean for the median, or distances in the plane of tastes.
    """
    points = np.array([profile.point for profile in profiles_of(model, matrix)])
    median = float(np.median(pdist(points, "cityblock")))
    assert model.card.median_distance == pytest.approx(median, rel=0.15)


def test_the_directions_are_where_people_differ_most(model: ItemModel, matrix: Matrix) -> None:
    tastes = np.array([profile.taste for profile in profiles_of(model, matrix)])
    directions = model.card.space.encoder.directions
    np.testing.assert_allclose(directions.T @ directions, np.eye(2), atol=1e-5)
    spread = np.sort(np.linalg.eigvalsh(np.cov(tastes.T)))[::-1]
    reached = np.var(tastes @ directions, axis=0, ddof=1)
    np.testing.assert_allclose(reached, spread[:2], rtol=0.15)


def test_ranks_are_those_of_a_normal_population(model: ItemModel) -> None:
    for row in model.card.space.encoder.knots:
        middle, spread = row[16], (row[32] - row[0]) / (2 * norm.ppf(0.995))
        expected = middle + spread * norm.ppf(0.005 + 0.99 * np.arange(33) / 32)
        np.testing.assert_allclose(row, expected, rtol=1e-9)


def test_few_likes_are_clipped_and_the_bound_of_one_rating_is_small(
    model: ItemModel, table: RatingTable, matrix: Matrix
) -> None:
    encoder = model.card.space.encoder
    sizes = np.abs(model.catalog.vectors @ encoder.directions) @ encoder.slopes
    likes = (np.nan_to_num(matrix) >= 4).sum(axis=0)
    clipped = likes[sizes > encoder.clip * (1 + 1e-6)].sum() / likes.sum()
    assert clipped <= 0.03
    assert encoder.one_rating < encoder.diameter / 2


def test_a_profile_folded_in_on_the_device_is_the_servers_own_taste(
    model: ItemModel, table: RatingTable, matrix: Matrix
) -> None:
    """From the person's own ratings and public figures: no second model lives on the device."""
    people = histories_of(table, np.arange(24), model.card.space.scale)
    tastes = fold_in_people(people, model.catalog.vectors, least_likes=4)
    expected = np.array([profile.taste for profile in profiles_of(model, matrix)])
    np.testing.assert_allclose(tastes.vectors, expected, rtol=1e-6, atol=1e-9)


@pytest.fixture
def tastes(table: RatingTable, model: ItemModel) -> Tastes:
    """The people of the small matrix, with four fifths of their ratings."""
    people = histories_of(table, np.arange(24), model.card.space.scale)
    return fold_in_people(sample_profiles(people, 0), model.catalog.vectors, least_likes=4)


def worth(tastes: Tastes, scoring: NDArray[np.float32], slate: list[int]) -> float:
    """The mean, over people, of the best unseen item of a slate; nothing where it has none."""
    scores_of = np.where(tastes.people.seen.toarray() > 0, 0.0, tastes.vectors @ scoring.T)
    return float(np.maximum(scores_of[:, slate], 0).max(axis=1).mean())


@pytest.mark.parametrize("held", [0, 6])
def test_the_shared_slate_is_greedy_for_what_it_adds_to_items_that_are_held(
    model: ItemModel, tastes: Tastes, held: int
) -> None:
    """No other next item would have been worth more; float32 decides ties. Planted bugs: what is
    held is forgotten; held items are on it.
    """
    scoring = model.catalog.scoring
    slate = slates.shared_slate(tastes, scoring, np.random.default_rng(0), held)
    assert sorted(slate) == list(range(held, 24))
    for length in range(4):
        before = [*range(held), *slate[:length]]
        most = max(worth(tastes, scoring, [*before, item]) for item in range(held, 24))
        assert most == pytest.approx(worth(tastes, scoring, [*before, slate[length]]), abs=1e-6)


def test_large_catalogs_choose_from_a_pool_and_many_people_from_a_sample(
    model: ItemModel, tastes: Tastes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slate() -> tuple[int, ...]:
        return slates.shared_slate(tastes, model.catalog.scoring, np.random.default_rng(0))

    whole = slate()
    monkeypatch.setattr(slates, "_CHUNK", 7)
    assert slate() == whole
    monkeypatch.setattr(slates, "_POOL", 6)
    monkeypatch.setattr(slates, "_MEASURED_PEOPLE", 20)
    assert len(slate()) == len({*slate()}) == 6


def test_items_with_too_few_ratings_are_left_out(table_of: TableOf, matrix: Matrix) -> None:
    """Item 3 keeps exactly ten ratings, item 8 one fewer, item 20 none."""
    fewer = matrix.copy()
    for item, kept in ((3, 10), (8, 9), (20, 0)):
        fewer[np.flatnonzero(~np.isnan(matrix[:, item]))[kept:], item] = NAN
    model = train(table_of(fewer), {}, TrainingOptions(min_ratings=10), source="few")
    assert list(model.keys) == [f"key {i}" for i in range(24) if i not in (8, 20)]
    assert [f"item {key}" for key in model.keys] == [item.label for item in model.catalog.items]


def test_items_carry_what_the_items_file_says_or_else_their_keys(model: ItemModel) -> None:
    assert model.catalog.items[5] == Item("Film 5", 1955, ("Drama", "Comedy"))
    assert model.catalog.items[23] == Item("item key 23")
    marks = "Ame\u0301lie" + "\u0301" * 9 + " (2001)"  # more than a device takes
    assert catalog_items((marks,), {marks: titled(marks)}) == (Item("Amelie", 2001),)


def test_the_model_says_what_it_was_trained_on_and_how_it_serves(model: ItemModel) -> None:
    assert model.counts == {"people": 100, "ratings": 1000, "likes": 300}
    chosen = model.training
    assert chosen == replace(PLANE, ranking_dimension=23, penalty=chosen.penalty, neighbors=0)
    assert chosen.penalty in {100 * 2.0**step for step in range(-7, 10)}
    assert (model.card.source, model.card.simulated) == ("ratings of 60 people", False)
    assert model.card.space.scale == RatingScale(1.0, 5.0, 4.0)


TITLES = {  # a year, a direction override, nothing that shows, a year that is none
    "Heat (1995)": ("Heat", 1995),
    "Alien \u202efdp": ("Alien fdp", None),
    "\u200b": ("?", None),
    "Ben-Hur (0000)": ("Ben-Hur", None),
}


def test_a_title_that_the_loader_accepts_is_one_that_the_device_accepts(
    tmp_path: Path, table: RatingTable
) -> None:
    """Or one odd row of an items file would make the whole server useless to every device."""
    path = tmp_path / "items.csv"
    lines = [f"key {at},{title}\n" for at, title in enumerate(TITLES)]
    path.write_text("item,title\n" + "".join(lines))
    rows, _ = read_items(path)
    model = train(table, rows, PLANE, source="titles")
    _, received = catalog_from_body(catalog_to_bytes(model.card, model.catalog)[HEAD_BYTES:])
    assert [(item.title, item.year) for item in received.items[:4]] == [*TITLES.values()]


ALIKE = [[1.0, 5.0, 1.0, 1.0, 1.0]]  # snapshots differ by what they leave out: nobody stands out


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize(
    ("ratings", "options", "message"),
    [
        (np.array([[1.0], [5.0], [3.0]]), LINE, "3 people and 1 items"),
        (np.eye(2) + 1, replace(LINE, dimension=2), "do not make 2 dimensions"),
        (np.full((10, 5), 2.0), replace(LINE, min_ratings=11), "every rating is 2"),
        (np.eye(10, 5) + 1, replace(LINE, min_ratings=11), "0 items with at least 11 ratings"),
        (np.full((5, 5), NAN), LINE, "no ratings"),
        (np.tile(ALIKE, (20, 1)), LINE, "no structure"),
        (np.vstack([np.full((3, 5), 5.0), np.tile(ALIKE, (397, 1))]), LINE, "people are alike"),
        (np.tile([1.0, 2.0, 3.0], (9, 1)), replace(LINE, like_from=4.0), "no usable space"),
    ],
)
def test_too_little_data_is_refused(
    table_of: TableOf, ratings: Matrix, options: TrainingOptions, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        train(table_of(ratings), {}, options, source="too little")


def test_people_held_out_who_like_nothing_are_named_as_the_cause(
    table_of: TableOf, matrix: Matrix
) -> None:
    """Planted bug: "nobody gave 4 or more", where only they did not."""
    some, testing = matrix.copy(), split_people(len(matrix), PLANE.seed)
    some[testing] = np.minimum(some[testing], 3.0)
    cause = rf"held out, .* nobody of {len(testing)} people gave 4 or more"
    with pytest.raises(DataError, match=cause):
        train(table_of(some), {}, PLANE, source="held out")


WRONG = """
k=0 neighbors=33 min_ratings=0 seed=-1 seed=4294967296 dimension=0 dimension=17 least_likes=10001
ranking_dimension=1 ranking_dimension=257 penalty=0.0 penalty=nan counts=0.0 counts=inf
"""


@pytest.mark.parametrize("option", WRONG.split())
def test_a_training_option_out_of_range_is_refused(option: str) -> None:
    """Before any data is read."""
    name, _, value = option.partition("=")
    changed: dict[str, Any] = {name: int(value) if value.lstrip("-").isdigit() else float(value)}
    with pytest.raises(ParameterError) as caught:
        TrainingOptions(**changed)
    assert name in caught.value.name

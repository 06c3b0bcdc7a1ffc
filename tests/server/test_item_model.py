"""The model, on matrices small enough to check by hand or by brute force."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from askew.errors import DataError, ParameterError
from askew.model_card import Item
from askew.ranking import distances, nearest
from askew.vectors import fold_in
from askew.wire import convert
from askew_server import item_model
from askew_server.item_model import ItemModel, TrainingOptions, train
from askew_server.ratings import ItemRow, RatingTable, read_items

NAN = float("nan")
Matrix = NDArray[np.float64]
TableOf = Callable[[Matrix], RatingTable]
PLANE = TrainingOptions(dimension=2, min_ratings=5)


def ratings_of(matrix: Matrix, person: int) -> dict[int, float]:
    """What one person rated, by item."""
    stars = matrix[person].tolist()
    return {item: each for item, each in enumerate(stars) if not math.isnan(each)}


def people_of(model: ItemModel, matrix: Matrix) -> Matrix:
    """Where the people of a matrix lie, rating by rating, from the formula and the card alone."""
    space, places = model.card.space, model.catalog.positions.astype(np.float64)
    middle = (space.scale.lowest + space.scale.highest) / 2
    half = space.scale.highest - middle
    people = []
    for person in range(len(matrix)):
        weights = {i: (stars - middle) / half for i, stars in ratings_of(matrix, person).items()}
        moved = sum(weight * places[i] for i, weight in weights.items())
        total = sum(map(abs, weights.values()))
        people.append(space.gain * moved / max(total, space.weight_floor))
    return np.array(people)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_training_is_deterministic(
    table: RatingTable, rows: Mapping[str, ItemRow], dimension: int
) -> None:
    options = TrainingOptions(dimension, min_ratings=5)
    first, second = (train(table, rows, options, source="twice") for _ in range(2))
    assert first.card == second.card
    assert first.catalog.version == second.catalog.version


def test_the_order_of_the_ratings_does_not_matter(
    table: RatingTable, rows: Mapping[str, ItemRow], model: ItemModel
) -> None:
    order = np.random.default_rng(5).permutation(len(table))
    shuffled = RatingTable(
        table.person[order], table.item[order], table.rating[order], 60, table.item_keys
    )
    again = train(shuffled, rows, PLANE, source="ratings of 60 people")
    assert model.catalog.items == again.catalog.items
    np.testing.assert_allclose(model.catalog.positions, again.catalog.positions, atol=1e-6)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_unit_of_distance_is_the_median_between_two_people(
    table: RatingTable, matrix: Matrix, rows: Mapping[str, ItemRow], dimension: int
) -> None:
    """All 1,770 pairs against the training's 20,000 draws of a pair, within 3 %.

    The median of so many draws has a standard error below 1 %; training is deterministic, so
    this cannot fail by chance later. The l2 metric or the mean would move it by far more.
    """
    options = TrainingOptions(dimension, min_ratings=1)
    model = train(table, rows, options, source="unit")
    between = pdist(people_of(model, matrix), "cityblock")
    unit = 1.0
    assert unit == pytest.approx(float(np.median(between)), abs=0.03)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_nobody_is_a_pair_with_themselves(
    table_of: TableOf, matrix: Matrix, dimension: int
) -> None:
    """Of the 66 pairs of twelve people, half are closer than the unit, within 2.

    20,000 draws leave a standard error of 0.23 pairs. With the twelve distances of 0 between a
    person and themselves among the draws, the unit would fall to the 30th pair.
    """
    few = matrix[:12]
    model = train(table_of(few), {}, TrainingOptions(dimension, min_ratings=1), source="few")
    closer = int((pdist(people_of(model, few), "cityblock") < 1 - 1e-9).sum())
    assert 31 <= closer <= 35


@pytest.mark.parametrize("person", [0, 7, 31, 59])
def test_a_profile_folded_in_on_the_device_is_the_servers_own_position(
    model: ItemModel, matrix: Matrix, person: int
) -> None:
    """From the person's own ratings and public figures: no second model lives on the device."""
    profile = fold_in(ratings_of(matrix, person), model.catalog.positions, model.card.space)
    position = people_of(model, matrix)[person]
    np.testing.assert_allclose(
        np.clip(position, model.card.space.lower, model.card.space.upper), profile.vector, rtol=1e-9
    )


def test_some_of_these_people_lie_strictly_inside_the_space(
    model: ItemModel, matrix: Matrix
) -> None:
    """Or the comparison above would compare corners of the box."""
    people = people_of(model, matrix)[[0, 7, 31, 59]]
    inside = (people > model.card.space.lower) & (people < model.card.space.upper)
    assert inside.all(axis=1).sum() >= 3


def test_the_bounds_hold_all_but_the_outermost_hundredth_of_the_people(
    model: ItemModel, matrix: Matrix
) -> None:
    """The server's own positions of its people, seen through the bounds that it published."""
    people = people_of(model, matrix)
    lower = np.floor(np.percentile(people, 0.5, axis=0) * 64) / 64
    upper = np.ceil(np.percentile(people, 99.5, axis=0) * 64) / 64
    assert tuple(lower) == model.card.space.lower
    assert tuple(upper) == model.card.space.upper


@pytest.mark.parametrize("radius", [0.25, 0.5, 2.0])
def test_the_item_radius_is_the_largest_coordinate_of_an_item(
    table: RatingTable, radius: float
) -> None:
    model = train(table, {}, TrainingOptions(2, 5, item_radius=radius), source="radius")
    assert radius == pytest.approx(float(np.abs(model.catalog.positions).max()))


# -- the checkerboard -----------------------------------------------------------------------------


def checkerboard() -> Matrix:
    """Two tastes: even people love even items and dislike odd ones, odd people the reverse.

    Nobody has rated the item of their own number, modulo ten.
    """
    person, item = np.indices((30, 10))
    board = np.where((person + item) % 2 == 0, 5.0, 1.0)
    board[person % 10 == item] = NAN
    return board


@pytest.fixture(scope="module")
def board(table_of: TableOf) -> ItemModel:
    """The model of the checkerboard, on the line."""
    options = TrainingOptions(dimension=1, min_ratings=1, weight_floor=1.0)
    return train(table_of(checkerboard()), {}, options, source="checkerboard")


def test_two_tastes_lie_on_two_sides(board: ItemModel) -> None:
    sides = np.sign(board.catalog.positions[:, 0])
    assert {-1.0, 1.0} == set(sides.tolist())
    np.testing.assert_array_equal(sides, sides[0] * np.tile([1.0, -1.0], 5))


@pytest.mark.parametrize("person", range(10))
def test_a_person_is_nearest_to_what_their_kind_loves(board: ItemModel, person: int) -> None:
    """The item withheld from them, which all others of their taste love, is among the five."""
    own = ratings_of(checkerboard(), person)
    profile = fold_in(own, board.catalog.positions, board.card.space)
    far = distances(profile.vector, board.catalog.positions)
    loved = {person % 2 + 2 * i for i in range(5)}
    assert loved == set(nearest(far, 5).tolist())


# -- the shared slate -----------------------------------------------------------------------------


def mean_distance_to(people: Matrix, positions: NDArray[np.float32], slate: list[int]) -> float:
    """The mean l1 distance from a person to the nearest item of a slate."""
    far = np.abs(people[:, None, :] - positions[None, slate, :]).sum(axis=2)
    return float(far.min(axis=1).mean())


def test_the_shared_slate_begins_with_the_best_single_item(
    model: ItemModel, matrix: Matrix
) -> None:
    people, positions = people_of(model, matrix), model.catalog.positions
    costs = [mean_distance_to(people, positions, [i]) for i in range(len(model.catalog))]
    assert int(np.argmin(costs)) == model.catalog.shared_slate[0]


@pytest.mark.parametrize("length", [2, 3, 5, 10, 20])
def test_every_beginning_of_the_shared_slate_is_greedy(
    model: ItemModel, matrix: Matrix, length: int
) -> None:
    """No other next item would have lowered the mean distance more; float32 decides ties."""
    people, positions = people_of(model, matrix), model.catalog.positions
    *before, chosen = model.catalog.shared_slate[:length]
    others = set(range(len(model.catalog))) - set(before)
    best = min(mean_distance_to(people, positions, [*before, i]) for i in others)
    assert best == pytest.approx(mean_distance_to(people, positions, [*before, chosen]), abs=1e-6)


@pytest.mark.parametrize("limit", [1, 5, 24, 64])
def test_a_shorter_shared_slate_is_the_beginning_of_a_longer_one(
    table: RatingTable, model: ItemModel, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_model, "SLATE_LIMIT", limit)
    shorter = train(table, {}, PLANE, source="shorter")
    assert model.catalog.shared_slate[:limit] == shorter.catalog.shared_slate
    assert min(limit, 24) == shorter.card.max_slate_size


# -- which items ----------------------------------------------------------------------------------


def test_items_with_too_few_ratings_are_left_out(table_of: TableOf, matrix: Matrix) -> None:
    """Item 3 keeps exactly ten ratings, item 8 one fewer, item 20 none."""
    fewer = matrix.copy()
    for item, kept in ((3, 10), (8, 9), (20, 0)):
        fewer[np.flatnonzero(~np.isnan(matrix[:, item]))[kept:], item] = NAN
    model = train(table_of(fewer), {}, TrainingOptions(2, min_ratings=10), source="few")
    expected = [f"item key {i}" for i in range(24) if i not in (8, 20)]
    assert expected == [item.label for item in model.catalog.items]
    assert 22 == model.card.n_items == len(model.catalog.positions)


def test_the_position_of_an_item_does_not_move_to_its_neighbor_when_others_are_left_out(
    table_of: TableOf, matrix: Matrix
) -> None:
    """An item's id is its place in the catalog, not in the file."""
    fewer = matrix.copy()
    fewer[:, 0] = NAN
    options = TrainingOptions(2, min_ratings=1)
    all_items = train(table_of(fewer), {}, options, source="all")
    without = train(table_of(fewer[:, 1:]), {}, options, source="without")
    np.testing.assert_allclose(
        all_items.catalog.positions, without.catalog.positions, rtol=1e-4, atol=1e-5
    )


def test_items_carry_what_the_items_file_says(model: ItemModel) -> None:
    expected = Item("Film 5", 1955, ("Drama", "Comedy"))
    assert expected == model.catalog.items[5]


def test_an_item_that_the_items_file_does_not_know_goes_by_its_key(model: ItemModel) -> None:
    expected = Item("item key 23")
    assert expected == model.catalog.items[23]


def test_the_model_says_what_it_was_trained_on(model: ItemModel, matrix: Matrix) -> None:
    expected = {
        "dimension": 2,
        "min_ratings": 5,
        "item_radius": 0.5,
        "weight_floor": 8.0,
        "seed": 0,
        "people": 60,
        "ratings": int((~np.isnan(matrix)).sum()),
    }
    assert expected == model.training
    assert (model.card.source, model.card.simulated) == ("ratings of 60 people", False)


TITLES = {
    "plain": ("Heat (1995)", Item("Heat", 1995, ("Drama",))),
    "a no-break space": ("100\u00a0% Wolf", Item("100 % Wolf", None, ("Drama",))),
    "a soft hyphen": ("Su\u00adspiria", Item("Suspiria", None, ("Drama",))),
    "a direction override": ("Alien \u202efdp", Item("Alien fdp", None, ("Drama",))),
    "nothing that shows": ("\u200b", Item("?", None, ("Drama",))),
    "the year 0": ("Ben-Hur (0000)", Item("Ben-Hur", None, ("Drama",))),
    "the year 9999": ("Far Away (9999)", Item("Far Away", 9999, ("Drama",))),
    "the longest title": ("x" * 500, Item("x" * 500, None, ("Drama",))),
}


@pytest.mark.parametrize(("title", "expected"), TITLES.values(), ids=TITLES)
def test_a_title_that_the_loader_accepts_is_one_that_the_device_accepts(
    tmp_path: Path, table: RatingTable, title: str, expected: Item
) -> None:
    """Or one odd row of an items file would make the whole server useless to every device."""
    path = tmp_path / "items.csv"
    path.write_text(f"item,title,genres\nkey 0,{title},Drama\nkey 1,Plain,Drama\n")
    rows, _ = read_items(path)
    model = train(table, rows, PLANE, source="titles")
    card = convert.card_from_bytes(convert.card_to_bytes(model.card))
    received = convert.catalog_from_chunks(convert.catalog_to_chunks(model.catalog), card)
    assert expected == received.items[0]


# -- too little to learn from ---------------------------------------------------------------------


def alike(n_people: int) -> Matrix:
    """People who all say the same."""
    return np.tile([[1.0, 5.0, 2.0, 4.0, 1.0]], (n_people, 1))


@pytest.mark.parametrize(
    ("ratings", "options", "message"),
    [
        (np.array([[1.0, 5.0, 3.0]]), TrainingOptions(1, 1), "1 people and 3 items"),
        (np.array([[1.0], [5.0], [3.0]]), TrainingOptions(1, 1), "3 people and 1 items"),
        (np.eye(2) + 1, TrainingOptions(2, 1), "do not make 2 dimensions"),
        (alike(10), TrainingOptions(1, 11), "0 items with at least 11 ratings"),
        (np.full((30, 8), 3.5), TrainingOptions(2, 1), "every rating is 3.5"),
    ],
    ids=["one person", "one item", "too many dimensions", "only rare items", "a single value"],
)
def test_too_little_data_is_refused(
    table_of: TableOf, ratings: Matrix, options: TrainingOptions, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        train(table_of(ratings), {}, options, source="too little")


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")  # scikit-learn's own report
def test_people_who_are_all_alike_make_no_unit_of_distance(table_of: TableOf) -> None:
    with pytest.raises(DataError, match="most people are alike"):
        train(table_of(alike(20)), {}, TrainingOptions(1, 1), source="alike")


def test_people_who_are_mostly_alike_make_no_unit_of_distance(table_of: TableOf) -> None:
    ratings = alike(200)
    ratings[0] = 5.0
    with pytest.raises(DataError, match="most people are alike"):
        train(table_of(ratings), {}, TrainingOptions(1, 1), source="mostly alike")


def far_out() -> Matrix:
    """A few people of strong opinions among many of nearly none."""
    rng = np.random.default_rng(2)
    ratings = np.full((300, 30), 3.0)
    ratings[:4] = rng.choice([1.0, 5.0], (4, 30))
    ratings[4:, 0] = rng.uniform(2.99, 3.01, 296)
    return ratings


def nearly_one_rating() -> Matrix:
    """Ratings of 3 and of 3.0005."""
    return np.random.default_rng(2).choice([3.0, 3.0005], (30, 10))


@pytest.mark.parametrize("ratings", [far_out(), nearly_one_rating()], ids=["far", "narrow"])
def test_ratings_that_make_no_proper_space_are_refused_as_data(
    table_of: TableOf, ratings: Matrix
) -> None:
    """A WireError would tell the operator of a message that nobody sent."""
    with pytest.raises(DataError):
        train(table_of(ratings), {}, TrainingOptions(1, 1), source="no space")


def test_a_table_without_ratings_is_refused(table_of: TableOf) -> None:
    with pytest.raises(DataError):
        train(table_of(np.full((5, 5), NAN)), {}, TrainingOptions(1, 1), source="empty")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dimension", 0),
        ("dimension", 65),
        ("min_ratings", 0),
        ("item_radius", 0.0),
        ("item_radius", -1.0),
        ("item_radius", NAN),
        ("item_radius", float("inf")),
        ("weight_floor", 0.0),
        ("weight_floor", NAN),
        ("weight_floor", 65.0),
        ("seed", -1),
        ("seed", 2**32),
    ],
)
def test_a_training_option_out_of_range_is_refused(name: str, value: float) -> None:
    """Before any data is read; the last two are what the decomposition cannot take."""
    changed: dict[str, Any] = {name: value}
    with pytest.raises(ParameterError) as caught:
        TrainingOptions(**changed)
    assert name == caught.value.name

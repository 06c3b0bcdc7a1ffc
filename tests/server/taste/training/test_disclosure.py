"""What a model tells about the people it was trained on: what is coarse, and what the warning says.

The newcomer is one more simulated person. Whoever compares has both catalogs, with the newcomer
and without, and everything else that the two models publish.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import astuple, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew_server.demo.simulation import films, simulate
from askew_server.ratings import RatingTable
from askew_server.taste import artifact
from askew_server.taste.item_vectors import FittedItems, GivenVectors, learn_vectors
from askew_server.taste.model import ItemModel, train
from askew_server.taste.options import (
    TrainingOptions,
    count_in_words,
    like_classes,
    round_to_one_digit,
)
from askew_server.taste.people import fold_in_people, sample_profiles
from askew_server.taste.shared_slate import put_default_items_first, shared_slate

Parts = NDArray[np.float64]
PEOPLE = 500
OPTIONS = TrainingOptions(dimension=2, ranking_dimension=8, min_ratings=5, like_from=4.0)
NEWCOMERS = range(PEOPLE, PEOPLE + 20)


@cache
def everybody() -> RatingTable:
    """The people trained on, then the newcomers."""
    return simulate(films(), n_people=PEOPLE + len(NEWCOMERS))


def people(newcomer: int | None = None) -> RatingTable:
    """The people trained on, and one newcomer or none."""
    table = everybody()
    own = (table.person < PEOPLE) | (table.person == newcomer)
    person = np.minimum(table.person[own], PEOPLE)
    count = PEOPLE + (newcomer is not None)
    return RatingTable(person, table.item[own], table.rating[own], count, table.item_keys)


@cache
def trained() -> ItemModel:
    return train(people(), {}, OPTIONS, source="ratings")


def fixed(step: int = 1) -> GivenVectors:
    """The items and vectors of `trained`; with the step -1 from the last one to the first."""
    catalog, space = trained().catalog, trained().card.space
    vectors, boosts = catalog.vectors[::step].copy(), catalog.boosts[::step].copy()
    return GivenVectors(tuple(trained().keys[::step]), vectors, space.scale, boosts, space.scales)


def test_likes_are_told_by_classes_and_how_many_there_are_by_one_digit() -> None:
    likes = np.array([0, 1, 3, 4, 15, 16, 63, 64, 4095, 4096])
    assert like_classes(likes).tolist() == [1, 1, 1, 4, 4, 16, 16, 64, 1024, 4096]
    words = {1: "fewer than 100", 99: "fewer than 100", 100: "about 100", 949: "about 900"}
    words |= {960: "about 1,000", 6040: "about 6,000", 1_000_209: "about 1,000,000"}
    assert {count: count_in_words(count) for count in words} == words


def test_figures_are_told_in_thousandths() -> None:
    """Planted bug: figures to the last bit, in which one person of those held out shows."""
    figures = [astuple(each) for column in trained().figures.values() for each in column.values()]
    numbers = np.array(figures).ravel()
    assert len(numbers) == 4 * (6 + 6 + 1)
    assert numbers.tolist() == numbers.round(3).tolist()
    assert numbers.any()


def test_no_exact_number_of_people_ratings_or_likes_is_in_a_model(
    tmp_path: Path, run: Callable[..., int]
) -> None:
    """Of training and of an update. Planted bug: exact counts in the card, or in its source."""
    table = people().only(np.arange(499))
    rows = zip(table.person.tolist(), table.item.tolist(), table.rating.tolist(), strict=True)
    lines = ["user,item,rating", *(f"{p},i{i},{r}" for p, i, r in rows)]
    (tmp_path / "ratings.csv").write_text("\n".join(lines) + "\n")
    titles = [f"i{i},Film {i}" for i in range(len(table.item_keys))]
    (tmp_path / "items.csv").write_text("\n".join(["item,title", *titles]) + "\n")
    files = ("--ratings", tmp_path / "ratings.csv", "--items", tmp_path / "items.csv")
    exact = {499, len(table), int((table.rating >= 3.875).sum())}  # on a scale of .5 to 5
    assert run("train", *files, "--out", tmp_path / "a") == 0
    assert run("update", *files, "--model", tmp_path / "a", "--out", tmp_path / "b") == 0
    for name in ("a", "b"):
        model = artifact.load(tmp_path / name)
        assert "ratings of about 500 people" in model.card.source
        said = (tmp_path / name / "manifest.json").read_text() + repr(model.card)
        numbers = re.findall(r"(?<![\w.])[\d,]*\d(?![\w.])", said)
        assert not exact & {int(number.replace(",", "")) for number in numbers}
        # Items that few rated are left out, so what is counted is no number of the files.
        assert [*map(round_to_one_digit, model.counts.values())] == [*model.counts.values()]
        assert model.counts["people"] == 500


class Published(NamedTuple):
    """What all devices have of a model: vectors, boosts, pairs of neighbors, (n, n), and the place
    of each item in the order of the default items and in the shared slate, (2, n).
    """

    vectors: NDArray[np.float32]
    boosts: NDArray[np.float32]
    pairs: Parts
    places: Parts


def published(table: RatingTable) -> Published:
    """By training itself, with the penalty of `trained`, so that nothing else moves."""
    options = replace(OPTIONS, penalty=100.0, neighbors=13)
    fitted = learn_vectors(table, options)
    n = len(fitted.keys)
    listed = np.zeros((n, n))
    if fitted.neighbors is not None:
        where = np.repeat(np.arange(n), 13), fitted.neighbors.items.ravel()
        np.add.at(listed, where, fitted.neighbors.step * fitted.neighbors.codes.ravel())
    return Published(fitted.vectors, fitted.boosts, listed + listed.T, places_of(fitted))


def places_of(fitted: FittedItems) -> Parts:
    """By training itself, for devices that hold ten items."""
    fewer = replace(fitted.options, default_items=10)
    ordered, held = put_default_items_first(replace(fitted, options=fewer), {})
    tastes = fold_in_people(sample_profiles(ordered.people, 0), ordered.vectors, fewer.least_likes)
    slate = shared_slate(tastes, ordered.scoring, np.random.default_rng(0), held)
    places = np.full((2, len(fitted.keys)), float(len(fitted.keys)))
    index = [fitted.keys.index(key) for key in ordered.keys]
    places[0, index] = np.arange(len(index))
    places[1, [index[item] for item in slate]] = np.arange(len(slate))
    return places


def marks_of(before: Published, after: Published) -> dict[str, list[Parts]]:
    """Each attack on all that is served together: its marks of the items, in some versions."""
    first, second = (one.vectors.astype(np.float64) for one in (before, after))
    left, _, right = np.linalg.svd(first.T @ second)
    moved = second - first @ (left @ right)
    marks = np.linalg.svd(moved, full_matrices=False)[0][:, 0]
    pairs = after.pairs - before.pairs
    scores = second @ second.T - first @ first.T + pairs
    _, axes = np.linalg.eigh(scores)
    risen = before.places - after.places
    boosts = np.abs(np.log(after.boosts / before.boosts))
    return {
        "outer product": [marks, -marks],
        "rows": [np.linalg.norm(moved, axis=1)],
        "scores": [axes[:, -1], -axes[:, -1], np.linalg.norm(scores, axis=1)],
        "lists": [np.abs(pairs).sum(axis=1), np.maximum(pairs, 0).sum(axis=1)],
        "boosts": [boosts],
        "default items": [risen[0], np.abs(risen[0])],
        "shared slate": [risen[1], np.abs(risen[1])],
    }


@cache
def given_back() -> dict[str, Parts]:
    """The part of each newcomer's likes among as many items of the largest marks, by each attack in
    its best version.
    """
    before, table, keys = published(people(None)), everybody(), trained().keys
    results: dict[str, list[float]] = {name: [] for name in WRITTEN}
    for newcomer in NEWCOMERS:
        own = (table.person == newcomer) & (table.rating >= 4)
        likes = {table.item_keys[item] for item in table.item[own]} & set(keys)
        for name, marks in marks_of(before, published(people(newcomer))).items():
            largest = [np.argsort(-each, kind="stable")[: len(likes)] for each in marks]
            parts = [len(likes & {keys[i] for i in items}) / len(likes) for items in largest]
            results[name].append(max(parts))
    return {name: np.array(parts) for name, parts in results.items()}


SAME = 0.012  # a like of four people: a figure may differ so where another BLAS rounds otherwise
WRITTEN = {  # the mean of the parts of likes that come back, and its standard error
    "outer product": (0.20, 0.03),
    "rows": (0.13, 0.02),
    "scores": (0.23, 0.04),
    "lists": (0.05, 0.01),
    "boosts": (0.10, 0.02),
    "default items": (0.17, 0.02),
    "shared slate": (0.14, 0.02),
}


def test_each_attack_on_two_trainings_gives_back_what_is_written_here() -> None:
    """Of the likes of 20 people."""
    for attack, (share, error) in WRITTEN.items():
        parts = given_back()[attack]
        assert parts.mean() == pytest.approx(share, abs=SAME), attack
        standard_error = parts.std(ddof=1) / np.sqrt(len(parts))
        assert standard_error == pytest.approx(error, abs=SAME), attack


def test_vectors_that_were_there_before_tell_nothing_of_a_newcomer() -> None:
    """Items and vectors stay to the bit; boosts change by a class of likes at most."""
    before, after = (
        train(people(newcomer), {}, OPTIONS, source="s", vectors=fixed())
        for newcomer in (None, PEOPLE + 3)
    )
    for model in (before, after):
        assert model.keys == trained().keys
        assert np.array_equal(model.catalog.vectors, trained().catalog.vectors)
    assert (before.catalog.boosts != after.catalog.boosts).sum() <= 2
    assert (before.card.source, before.counts) == (after.card.source, after.counts)


def test_a_model_on_given_vectors_still_serves_every_item_of_them() -> None:
    """Also one that these ratings do not have, and in its own order.

    Planted bug: columns of the table for columns of the model.
    """
    table, backwards = people(), fixed(-1)
    names = tuple("another" if key == backwards.keys[4] else key for key in table.item_keys)
    model = train(replace(table, item_keys=names), {}, OPTIONS, source="s", vectors=backwards)
    assert tuple(model.keys) == backwards.keys
    assert model.training.ranking_dimension == 8
    assert model.catalog.boosts.tolist() == trained().catalog.boosts[::-1].tolist()


def test_another_scale_than_that_of_the_given_vectors_is_refused() -> None:
    vectors, options = fixed(), replace(OPTIONS, like_from=3.0)
    with pytest.raises(ParameterError, match="as in the model that the vectors are from"):
        train(people(), {}, options, source="s", vectors=vectors)

"""What a model tells of people held out, and which items come first."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from benchmarks.places.theory import log_likelihood
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import chi2

from askew.catalog.item import Item
from askew.dp.privacy import DEVICE_EPSILON
from askew.limits import DEFAULT_BYTES
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Query, Signal
from askew_server.demo.simulation import films, simulate
from askew_server.ratings import RatingTable
from askew_server.retrieval.snapshot import Retriever
from askew_server.taste import model as item_model
from askew_server.taste.evaluation import (
    Evaluation,
    Figure,
    Figures,
    simulate_signals,
    split_people,
)
from askew_server.taste.item_vectors import histories_by_key
from askew_server.taste.measures import Estimate
from askew_server.taste.model import FittedModel, ItemModel, train
from askew_server.taste.options import TrainingOptions
from askew_server.taste.people import Histories, split_ratings
from askew_server.taste.shared_slate import default_order, default_size

OPTIONS = TrainingOptions(k=4, dimension=2, ranking_dimension=6, min_ratings=5)
N_FILMS, N_PEOPLE = 150, 1000


@cache
def small_table(n_people: int = N_PEOPLE, seed: int = 1) -> RatingTable:
    return simulate(films()[:N_FILMS], n_people=n_people, seed=seed)


@cache
def measured(default_items: int | None = None) -> ItemModel:
    options = replace(OPTIONS, default_items=default_items)
    return train(small_table(), {}, options, source="s")


def held_out_rows() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The people of whom figures tell, and those whom what is measured was made of."""
    order, fifth = np.random.default_rng([OPTIONS.seed, 9]).permutation(N_PEOPLE), N_PEOPLE // 5
    return np.sort(order[:fifth]), np.sort(order[fifth:])


@cache
def without_them(default_items: int | None = None) -> ItemModel:
    """The model that is measured: of the others alone."""
    _, others = held_out_rows()
    fewer = OPTIONS.min_ratings * len(others) // N_PEOPLE
    options = replace(OPTIONS, min_ratings=fewer, default_items=default_items)
    return train(small_table().only(others), {}, options, source="s")


@dataclass(frozen=True, eq=False)
class HeldOutPerson:
    """Somebody held out. worth: of each item, -inf where seen; liked: and not shown."""

    worth: NDArray[np.float64]
    liked: frozenset[int]
    point: NDArray[np.float64]

    def ndcg(self, items: Iterable[int]) -> float:
        gains = [1 / math.log2(rank + 2) for rank in range(10)]
        unseen = [item for item in items if self.worth[item] > -math.inf]
        unseen.sort(key=lambda item: (-self.worth[item], item))
        ranked = zip(gains, unseen, strict=False)
        return sum(g for g, i in ranked if i in self.liked) / sum(gains[: len(self.liked)])


def people_held_out(model: ItemModel) -> list[HeldOutPerson]:
    """The people whom figures tell of, as plain loops have them. model: `without_them`."""
    table, card, catalog = small_table(), model.card, model.catalog
    encoder, measured_people = card.space.encoder, []
    people = histories_by_key(table.only(held_out_rows()[0]), tuple(model.keys), card.space.scale)
    shown, _ = split_ratings(people, OPTIONS.seed)
    for row in range(people.seen.shape[0]):
        likes, shown_likes, seen = (
            set(part.indices[part.indptr[row] : part.indptr[row + 1]].tolist())
            for part in (people.likes, shown.likes, shown.seen)
        )
        if not shown_likes or likes == shown_likes:
            continue
        rows, weight = sorted(shown_likes), math.sqrt(max(len(shown_likes), OPTIONS.least_likes))
        taste = catalog.vectors[rows].astype(float).sum(axis=0) / weight
        worth = catalog.scoring.astype(float) @ taste
        worth[sorted(seen)] = -math.inf
        sums = encoder.contributions(catalog.vectors)[rows].sum(axis=0)
        point = encoder.unit * encoder.ranks(sums[None] / weight)
        measured_people.append(HeldOutPerson(worth, frozenset(likes - shown_likes), point[0]))
    return measured_people


def summary(got: list[float], other: list[float]) -> tuple[float, float, float]:
    """Mean, mean of the paired difference, and its standard error."""
    rest = [g - o for g, o in zip(got, other, strict=True)]
    gain = sum(rest) / len(rest)
    spread = math.sqrt(sum((g - gain) ** 2 for g in rest) / len(rest))
    return sum(got) / len(got), gain, spread / math.sqrt(len(rest))


@pytest.mark.parametrize("default_items", [None, 12])
def test_figures_are_what_devices_rank_that_hold_items_and_send_nothing(
    default_items: int | None,
) -> None:
    """By plain loops. Planted bugs: what was seen is ranked; the slate replaces what is held."""
    # Which likes are held out is by an item's number, and so by the order in which items are held.
    model = without_them(default_items or N_FILMS - 1)
    people, held = people_held_out(model), range(default_items or N_FILMS)
    slate = model.catalog.shared_slate[: OPTIONS.k]
    figures = measured(default_items).figures[str(len(held))]
    alone = [person.ndcg(held) for person in people]
    assert figures["alone"].ndcg.mean == pytest.approx(np.mean(alone), abs=0.02)
    if default_items:
        ndcg, gain, _ = summary([person.ndcg([*held, *slate]) for person in people], alone)
        assert figures["everybody"].ndcg.mean == pytest.approx(ndcg, abs=0.02)
        assert figures["everybody"].gain.mean == pytest.approx(gain, abs=0.02)
    else:
        assert set(figures) == {"alone"}  # who holds all has nothing to ask for


def test_of_a_small_catalog_figures_tell_what_the_first_items_would_be_worth() -> None:
    """In the order in which devices would hold them. Planted bug: the first of the catalog."""
    whole, some = measured(None).figures, measured(64).figures
    assert list(whole) == ["64", "150"]
    assert whole["64"]["alone"] == some["64"]["alone"]
    assert whole["64"]["0.8"].ndcg.mean == pytest.approx(some["64"]["0.8"].ndcg.mean, abs=0.01)


def test_an_answer_is_worth_what_the_server_gives_on_average() -> None:
    """Ten draws a person, of other noise than the figure's own. Planted bugs: points without noise;
    the gain over what is held alone.
    """
    model, rng = without_them(12), np.random.default_rng(1)
    people, server = people_held_out(model), Retriever(model.card, model.catalog)
    lattice = LatticeLaplace.for_epsilon(DEVICE_EPSILON)
    held = range(model.card.n_held)
    got = []
    for person in people:
        noise = rng.geometric(1 / (lattice.inverse_rate + 1), (10, 2, 2))
        values = np.rint(person.point / lattice.step).astype(int) + noise[:, 0] - noise[:, 1]
        signals = (Signal(model.card.space.version, lattice, tuple(v)) for v in values.tolist())
        slates = [server.answer(Query(signal, 4)).item_ids for signal in signals]
        got.append(float(np.mean([person.ndcg([*held, *slate]) for slate in slates])))
    same = model.catalog.shared_slate[:4]
    ndcg, gain, error = summary(got, [person.ndcg([*held, *same]) for person in people])
    figure = measured(12).figures["12"]["0.8"]
    assert figure.gain.mean == pytest.approx(gain, abs=4 * figure.gain.error)
    assert figure.ndcg.mean == pytest.approx(ndcg, abs=4 * figure.gain.error)
    assert 0.5 * error < figure.gain.error < 3 * error


def test_nobody_who_is_measured_made_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: figures of the people trained on."""
    monkeypatch.setattr(item_model, "_ENOUGH", 0.5)
    measured_with: list[int] = []
    figures = FittedModel.evaluate

    def watched(fitted: FittedModel, people: RatingTable) -> Figures:
        measured_with.append(len(fitted.tastes.vectors))
        return figures(fitted, people)

    monkeypatch.setattr(FittedModel, "evaluate", watched)
    model = train(small_table(500), {}, OPTIONS, source="s")
    assert len(split_people(500, OPTIONS.seed)) == 100
    (size,) = measured_with
    assert 380 < size <= 400
    assert set(model.figures["64"]) == {"alone", "everybody", "0.4", "0.8", "1", "2"}


def test_who_has_nothing_to_be_judged_by_is_left_out() -> None:
    """And where nobody is left, figures are finite. Planted bug: the mean of nobody."""
    model = without_them()
    catalog, encoder = model.catalog, model.card.space.encoder
    alone = csr_array(np.eye(30, len(catalog)))
    group = Evaluation.of(*split_ratings(Histories(alone, alone), 0), encoder, catalog)
    assert len(group.people) == 0  # who likes one thing shows it, or has nothing to show
    got = group.evaluate_slates(group.rank_first(0), np.array([0]))
    assert Figure.of(got, got) == Figure(*[Estimate(0.0, 0.0)] * 2)


def test_default_items_tell_no_exact_counts() -> None:
    """Within a class of likes the public vectors decide. Planted bug: by likes alone."""
    scoring = np.diag([1.0, 2.0, 3.0, 4.0, 9.0]).astype(np.float32)
    likes = np.array([63, 16, 62, 70, 1])  # classes 16, 16, 16, 64 and 1
    assert default_order([2], likes, scoring).tolist() == [2, 3, 1, 0, 4]


def test_as_many_items_are_default_as_make_a_small_file() -> None:
    """By words of all. Planted bug: by the first items, whose words may be the shortest."""
    films = [Item(f"item {i}") for i in range(1000)]
    assert [default_size(asked, films, 32) for asked in (None, 20, 5000)] == [1000, 20, 1000]
    rng = np.random.default_rng(1)
    words = rng.integers(97, 123, (200_000, 60), dtype=np.uint8)
    many = [Item(bytes(row[: 2 if at < 20_000 else 60]).decode()) for at, row in enumerate(words)]
    assert 12_000 < default_size(None, many, 32) < DEFAULT_BYTES / (16 + 1 + 32)


DRAWS = 200_000
FALSE_ALARM = 1e-12  # of each comparison; seeds are fixed, so none is ever seen
COARSE = LatticeLaplace(step_exponent=1, inverse_rate=4)


def fits(counted: NDArray[np.int64], expected: NDArray[np.float64]) -> bool:
    """A chi-square test of counts against probabilities, the rest pooled into one cell."""
    counts = np.append(counted, DRAWS - counted.sum())
    wanted = DRAWS * np.append(expected, 1 - expected.sum())
    statistic = float(((counts - wanted) ** 2 / wanted).sum())
    return bool(chi2.sf(statistic, len(counted)) > FALSE_ALARM)


@pytest.mark.parametrize("u", [0.0, 0.375, 1.9])
def test_points_get_the_noise_of_the_lattice(u: float) -> None:
    drawn = simulate_signals(COARSE, np.full((DRAWS, 1), u), np.random.default_rng(1))
    counted = np.array([(drawn == z).sum() for z in range(-8, 12)])
    for rate in (3, 4, 5):
        lattice, point = LatticeLaplace(1, rate), np.array([[u]])
        law = np.exp([log_likelihood(lattice, [z], point)[0] for z in range(-8, 12)])
        assert fits(counted, law) == (rate == 4)

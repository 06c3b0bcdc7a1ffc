"""The search for the best items leaves most of them out, and finds what a plain loop finds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from small_world import made_encoder

from askew.retrieval import item_search
from askew.retrieval.item_search import (
    ItemSearch,
    LinearScores,
    UpperLayers,
    doubles_before,
    largest_score,
    margin_of,
    numbers_of,
    upper_layers,
)
from askew.spaces.vectors import KNOTS, Encoder

Vectors = NDArray[np.float32]
Points = NDArray[np.float64]
CELLS = 256  # and fewer, which are made sooner, find the same as many
KINDS = ("random", "equal", "few kinds", "near ties", "heavy tails", "on a circle", "zeros", "huge")


def plain(encoder: Encoder, vectors: NDArray[np.floating], points: Points, k: int) -> list[int]:
    """The reference: every item's float64 product with every decoded point, in turn."""
    wide = vectors.astype(np.float64, copy=False)
    scores = [np.vecdot(wide, taste) for taste in encoder.decode(points)]
    chosen: list[int] = []
    for number in range(k):
        left = scores[number % len(scores)].copy()
        left[chosen] = -np.inf
        chosen.append(int(left.argmax()))
    return chosen


def encoder_of(rng: np.random.Generator, d: int, ranking: int, *, mean: float = 0.3) -> Encoder:
    """Directions that are not orthogonal, knots that are not even, a mean taste other than zero."""
    knots = np.cumsum(rng.uniform(0.01, 0.2, size=(d, KNOTS)), axis=1) - 1.5
    return replace(
        made_encoder(d, ranking),
        directions=rng.normal(size=(ranking, d)).astype(np.float32),
        origin=(mean * rng.normal(size=ranking)).astype(np.float32),
        knots=knots,
        clip=1e-3,
    )


def vectors_of(rng: np.random.Generator, kind: str, n: int, ranking: int) -> Vectors:
    vectors = rng.normal(size=(n, ranking))
    match kind:
        case "equal":
            vectors[:] = vectors[0]
        case "few kinds":  # every item has many doubles
            vectors = vectors[rng.integers(0, min(9, n), n)]
        case "near ties":  # closer to each other than float32 tells in a product
            steps = 2.0**-23 * rng.integers(0, 3, (n, 1))
            vectors = vectors[rng.integers(0, min(9, n), n)] * (1 + steps)
        case "heavy tails":
            vectors *= rng.lognormal(0, 2, size=(n, 1))
        case "on a circle":  # everyone is the best of some direction
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        case "zeros":
            vectors[rng.random(n) < 0.7] = 0
        case "huge":
            vectors = 2.0**20 * np.sign(vectors)
    return vectors.astype(np.float32)


def points_of(rng: np.random.Generator, encoder: Encoder, n: int) -> Points:
    """Some within the box, some on its edges, and its corners."""
    points = encoder.unit * rng.random((n, encoder.dimension))
    on_edge = rng.random(points.shape) < 0.4
    points[on_edge] = encoder.unit * rng.integers(0, 2, on_edge.sum())
    return points


def linear(encoder: Encoder, vectors: Vectors) -> LinearScores:
    """Of all these items, as a search makes them."""
    numbers = numbers_of(encoder, vectors).astype(np.float32)
    margin = margin_of(encoder, largest_score(encoder, vectors))
    before = doubles_before(vectors, 1)
    return LinearScores(numbers, np.arange(len(vectors)), margin, before)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that few items are enough to be read in pieces, left out, and looked at in blocks."""
    monkeypatch.setattr(item_search, "_FEW", 20)
    monkeypatch.setattr(item_search, "_PIECE", 170)
    monkeypatch.setattr(item_search, "_EXACT", 7)
    monkeypatch.setattr(item_search, "SIZES", (2, 8))
    monkeypatch.setattr(item_search, "_CORNERS_PIECE", 90)
    monkeypatch.setattr(item_search, "_AT_ONCE", 64)
    monkeypatch.setattr(item_search, "_BLOCK", 4)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    n=st.sampled_from([1, 5, 60, 400]),
    d=st.integers(1, 6),
    probes=st.integers(1, 9),
    k=st.sampled_from([1, 2, 5, 8, 13]),
)
def test_what_is_found_is_what_a_plain_loop_finds(  # noqa: PLR0917
    seed: int, kind: str, n: int, d: int, probes: int, k: int
) -> None:
    rng = np.random.default_rng(seed)
    encoder, vectors = encoder_of(rng, d, ranking=7), vectors_of(rng, kind, n, 7)
    points, k = points_of(rng, encoder, probes), min(k, n)
    found = ItemSearch(encoder, vectors, CELLS).best(points, k)
    assert found.tolist() == plain(encoder, vectors, points, k)


def test_of_equal_scores_the_lower_id_wins_wherever_it_is_read() -> None:
    """Doubles in the same piece, in another one, and in another block."""
    rng = np.random.default_rng(4)
    encoder, vectors = encoder_of(rng, 2, 5), vectors_of(rng, "random", 500, 5)
    point = encoder.unit * np.array([[0.3, 0.6]])
    (best,) = plain(encoder, vectors, point, 1)
    for others in ([best + 1], [499], [0, 1, 250], [3, 499]):
        doubled = vectors.copy()
        doubled[[each for each in others if each < 500]] = vectors[best]
        expected = sorted({best, *others})
        search = ItemSearch(encoder, doubled, CELLS)
        for k in range(1, 1 + len(expected)):
            assert search.best(point, k).tolist() == expected[:k]


def test_a_score_that_a_product_of_few_numbers_gets_wrong_is_decided_by_the_exact_one() -> None:
    """d + 1 rounded numbers tell two items in the wrong order; the exact scores do not."""
    rng = np.random.default_rng(5)
    encoder = encoder_of(rng, 5, 7)  # so many dimensions that the numbers are float32
    base = rng.normal(size=7).astype(np.float32)
    vectors = np.tile(base, (64, 1))
    vectors[:, 0] = np.nextafter(base[0], np.float32(9) * (-1) ** np.arange(64, dtype=np.float32))
    wrong = 0
    search = ItemSearch(encoder, vectors, CELLS)
    for _ in range(50):
        points = points_of(rng, encoder, 1)
        expected = plain(encoder, vectors, points, 1)
        assert search.best(points, 1).tolist() == expected
        assert search._all is not None
        rounded = search._all.at(encoder.shifts(points), slice(None))
        wrong += int(rounded.argmax()) != expected[0]
    assert wrong  # the case is one


@pytest.mark.parametrize("kind", ["random", "heavy tails", "on a circle"])
def test_a_score_is_off_by_less_than_the_margin(kind: str) -> None:
    """And by no less than a thousandth of it: the margin is not just large."""
    rng = np.random.default_rng(6)
    worst = 0.0
    for d in (1, 3, 8):
        encoder, vectors = encoder_of(rng, d, 16), vectors_of(rng, kind, 2000, 16)
        scores = linear(encoder, vectors)
        points = points_of(rng, encoder, 40)
        exact = np.stack([np.vecdot(vectors.astype("f8"), t) for t in encoder.decode(points)])
        off = np.abs(scores.at(encoder.shifts(points), slice(None)) - exact).max()
        assert off < scores.margin
        worst = max(worst, off / scores.margin)
    assert worst > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(("k", "d"), [(1, 1), (8, 2), (1, 4)])
def test_most_items_are_left_out_and_none_that_could_be_an_answer(k: int, d: int) -> None:
    rng = np.random.default_rng(7)
    encoder, vectors = encoder_of(rng, d, 6), vectors_of(rng, "random", 3000, 6)
    layers = upper_layers(linear(encoder, vectors), encoder, (k, 9), 1 << 12)
    points = points_of(rng, encoder, 600)
    exact = np.stack([np.vecdot(vectors.astype("f8"), t) for t in encoder.decode(points)])
    best = np.argpartition(-exact, k, axis=1)[:, :k]
    rows, _, sizes = layers.near(encoder.shifts(points), k)
    near = np.split(layers.scores.items[rows], sizes.cumsum()[:-1])
    assert all(set(a) <= set(b) for a, b in zip(best.tolist(), near, strict=True))
    assert np.mean([len(each) for each in near]) <= 3 * k + 12 * d * d  # nearly as few as can be


@pytest.mark.parametrize("kind", ["equal", "few kinds", "zeros"])
def test_of_items_of_one_vector_only_the_first_few_are_in_any_list(kind: str) -> None:
    """Planted bugs: doubles are kept; one too few is; those of higher ids are; of vectors that few
    items have, all of these.
    """
    rng = np.random.default_rng(13)
    encoder, vectors = encoder_of(rng, 2, 5), vectors_of(rng, kind, 900, 5)
    vectors[-400:] = np.tile(vectors[:100], (4, 1))
    search = ItemSearch(encoder, vectors, CELLS)
    layers = search._layers
    assert layers is not None
    for size, lists in layers.lists.items():
        for rows in lists:
            kept = layers.scores.items[rows].tolist()
            counts = Counter(vectors[item].tobytes() for item in kept)
            assert max(counts.values()) <= size
    for k in (1, 2, 7, 8):
        for _ in range(10):
            points = points_of(rng, encoder, k)
            points[:] = points[0]  # so that all want the same item
            assert search.best(points, k).tolist() == plain(encoder, vectors, points, k)


def test_doubles_are_counted_by_id_and_never_by_their_keys_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted bugs: where two vectors have one key, they are taken for one; vectors of which there
    are as many as may be kept are counted.
    """
    rng = np.random.default_rng(14)
    vectors = rng.normal(size=(200, 3)).astype(np.float32)
    vectors[[3, 50, 60, 199]], vectors[[7, 8, 9]] = vectors[3], vectors[7]
    expected = np.zeros(200, np.int32)
    expected[[3, 50, 60, 199]] = range(4)
    assert doubles_before(vectors, 3).tolist() == expected.tolist()
    assert not doubles_before(vectors, 4).any()
    monkeypatch.setattr(item_search, "_keys", lambda them: np.zeros(len(them), np.uint64))
    assert not doubles_before(vectors, 3).any()


@pytest.mark.parametrize("n", [15, 300])
def test_scores_within_two_margins_of_the_best_are_computed_exactly(n: int) -> None:
    """With lists and without. Planted bug: one margin, which is half of what two can be off by."""
    rng = np.random.default_rng(16)
    encoder, vectors = encoder_of(rng, 2, 5), vectors_of(rng, "random", n, 5)
    with patch.object(item_search, "taken", wraps=item_search.taken) as taken:
        ItemSearch(encoder, vectors, CELLS).best(points_of(rng, encoder, 1), 1)
    [call] = taken.call_args_list
    assert call.args[2] == 2 * margin_of(encoder, largest_score(encoder, vectors))


def test_no_list_is_longer_than_eight_usual_ones() -> None:
    """Jobs are let in by what an answer usually looks at. Planted bug: eighths rounded down."""
    rows, everywhere = np.arange(1025, dtype=np.int32), np.arange(1024)
    numbers, nothing = np.zeros((2, 1025), np.float32), np.zeros(1025, np.int32)
    scores = LinearScores(numbers, np.arange(1025), 0.0, nothing)
    part_of = (everywhere == 0).astype(np.int32)  # a cell of many items among a thousand of one
    layers = UpperLayers(scores, (np.linspace(0.5, 1022.5, 1023),), part_of, {2: (rows[:1], rows)})
    assert 8 * layers.usual[2] >= 1025


@pytest.mark.parametrize("size", [1e-35, 1e33, 1e41])
def test_scores_too_small_or_too_large_for_float32_are_answered_exactly(size: float) -> None:
    """d + 1 numbers say nothing of them: all items are looked at."""
    rng = np.random.default_rng(9)
    encoder, vectors = encoder_of(rng, 5, 7, mean=0.0), vectors_of(rng, "random", 300, 7)
    if size > 1:
        smaller = (encoder.directions.astype("f8") / size).astype("f4")
        encoder = replace(encoder, directions=smaller)
        vectors *= np.float32(2.0**20)
    else:
        vectors *= np.float32(size)
    search = ItemSearch(encoder, vectors, CELLS)
    points = points_of(rng, encoder, 3)
    assert search.best(points, 8).tolist() == plain(encoder, vectors, points, 8)


def test_a_point_is_never_decoded_beyond_the_limits_of_its_shifts() -> None:
    """Not by rounding either: between the last two knots a rank is below 1 by 2**-53 or more."""
    rng = np.random.default_rng(10)
    for start in (0.0, 2 - 1e6, 1e6 - 9):
        encoder = encoder_of(rng, 3, 4)
        encoder = replace(encoder, knots=encoder.knots + start)
        low, high = encoder.shift_limits
        near = encoder.unit * (1 - 2.0**-53 * rng.integers(-2, 3, (500, 3)))
        shifts = encoder.shifts(np.vstack([near, encoder.unit - near]))
        assert (low <= shifts).all()
        assert (shifts <= high).all()

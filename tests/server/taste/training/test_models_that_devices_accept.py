"""Whatever people are like, what training makes of them is a space that devices enter by default.

The people here are simulated with heavy tails: most rate a handful of items, a few rate hundreds,
and a few items are rated by nearly everybody. So most points lie close together and some far away.
"""

from __future__ import annotations

import numpy as np
import pytest

from askew.dp.privacy import DEVICE_DIAMETER
from askew_client.device.model import noise_for
from askew_client.settings.settings import ClientSettings
from askew_server.ratings import RatingTable
from askew_server.taste import space_fit
from askew_server.taste.model import ItemModel, train
from askew_server.taste.options import TrainingOptions

KINDS = 6


def heavy_tailed(n_people: int = 500, n_items: int = 200) -> RatingTable:
    """Numbers of ratings are Pareto of shape 1 from 2 on, popularity falls like rank ** -.8.

    Each person likes mostly one of six kinds of items. PCG64, seed 1: it protects nobody.
    """
    rng = np.random.default_rng(1)
    popularity, kind = np.arange(1, n_items + 1) ** -0.8, rng.integers(KINDS, size=n_items)
    rows = []
    for person in range(n_people):
        count = min(n_items // 2, int(2 * (1 + rng.pareto(1.0))))
        liking = rng.dirichlet(np.full(KINDS, 0.2))[kind]
        weights = popularity * (liking + 0.02)
        seen = rng.choice(n_items, size=count, replace=False, p=weights / weights.sum())
        stars = np.clip(np.round(3 + 1.5 * (liking[seen] > 0.3) + rng.normal(size=count)), 1, 5)
        rows.append(np.column_stack([np.full(count, person), seen, stars]))
    person, item, stars = np.concatenate(rows).T
    keys = tuple(f"Place {number}" for number in range(n_items))
    return RatingTable(person.astype(np.int64), item.astype(np.int64), stars, n_people, keys)


def model_of(dimension: int) -> ItemModel:
    options = TrainingOptions(min_ratings=5, dimension=dimension)
    return train(heavy_tailed(), {}, options, source="people of heavy tails")


@pytest.mark.parametrize("dimension", [1, 4])
def test_a_device_enters_the_space_of_people_with_heavy_tails(dimension: int) -> None:
    """One rating moves a point by as much as devices allow. Planted bug: a unit of two ratings."""
    card = model_of(dimension).card
    assert card.space.diameter <= DEVICE_DIAMETER
    assert 0.999 < card.space.encoder.one_rating <= 1
    assert 0 < card.median_distance < card.space.diameter
    noise_for(card, ClientSettings())


def test_people_who_are_far_apart_make_a_space_as_wide_as_devices_accept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Then one rating moves a point by less. Planted bug: a unit by one rating alone."""
    wide = model_of(2).card
    monkeypatch.setattr(space_fit, "DEVICE_DIAMETER", wide.space.diameter / 2)
    narrow = model_of(2).card
    assert 0.999 * wide.space.diameter / 2 < narrow.space.diameter <= wide.space.diameter / 2
    assert narrow.space.encoder.one_rating == pytest.approx(0.5, abs=0.001)
    assert narrow.median_distance == pytest.approx(wide.median_distance / 2, abs=0.1)

"""Whatever people are like, what training makes of them is a space that devices enter by default.

The people here are simulated with heavy tails: most rate a handful of items, a few rate hundreds,
and a few items are rated by nearly everybody. So most points lie close together and some far away,
and a unit of distance that made the median 1 would make the space wider than devices accept.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from askew.dp.privacy import DEVICE_REACH, Reach
from askew.errors import ParameterError
from askew_client.settings.settings import ClientSettings
from askew_client.taste.choice import noise_for
from askew_server.cli.main import cli
from askew_server.ratings import RatingTable
from askew_server.taste.model import artifact
from askew_server.taste.model.item_model import ItemModel, train
from askew_server.taste.training import space_fit
from askew_server.taste.training.options import TrainingOptions

KINDS = 6
PRINCIPAL = TrainingOptions(min_ratings=5)
UNLIMITED = Reach(one_rating=Fraction(64), diameter=Fraction(64))
# Least ratings of a person, and the signal dimension. Without limits the diameters are 5.8, 5.2,
# 4.8 and 3.7, and one rating moves a point by 1.7, 1.5, 1.0 and 1.7.
TAILS = [(2, 1), (2, 2), (3, 2), (2, 4)]


def heavy_tailed(least: int, n_people: int = 500, n_items: int = 200) -> RatingTable:
    """Numbers of ratings are Pareto of shape 1 from `least` on, popularity falls like rank ** -.8.

    Each person likes mostly one of six kinds of items. PCG64, seed 1: it protects nobody.
    """
    rng = np.random.default_rng(1)
    popularity, kind = np.arange(1, n_items + 1) ** -0.8, rng.integers(KINDS, size=n_items)
    rows = []
    for person in range(n_people):
        count = min(n_items // 2, int(least * (1 + rng.pareto(1.0))))
        liking = rng.dirichlet(np.full(KINDS, 0.2))[kind]
        weights = popularity * (liking + 0.02)
        seen = rng.choice(n_items, size=count, replace=False, p=weights / weights.sum())
        stars = np.clip(np.round(3 + 1.5 * (liking[seen] > 0.3) + rng.normal(size=count)), 1, 5)
        rows.append(np.column_stack([np.full(count, person), seen, stars]))
    person, item, stars = np.concatenate(rows).T
    keys = tuple(f"Place {number}" for number in range(n_items))
    return RatingTable(person.astype(np.int64), item.astype(np.int64), stars, n_people, keys)


def model_of(least: int, dimension: int) -> ItemModel:
    options = replace(PRINCIPAL, dimension=dimension)
    return train(heavy_tailed(least), {}, options, source="people of heavy tails")


@pytest.mark.thin
@pytest.mark.parametrize(("least", "dimension"), TAILS)
def test_a_device_enters_the_space_of_people_with_heavy_tails(least: int, dimension: int) -> None:
    """Before, each of these was refused by every device, without a word from the training."""
    model = model_of(least, dimension)
    reach = model.card.space.encoder.reach()
    assert reach.diameter <= DEVICE_REACH.diameter
    assert reach.one_rating <= DEVICE_REACH.one_rating
    assert 0 < model.median_distance < 1
    noise_for(model.card, ClientSettings())


@pytest.mark.thin
@pytest.mark.parametrize(("least", "dimension"), TAILS)
def test_these_people_would_have_made_a_space_that_devices_refuse(
    least: int, dimension: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the test above would show nothing."""
    monkeypatch.setattr(space_fit, "DEVICE_REACH", UNLIMITED)
    model = model_of(least, dimension)
    assert model.median_distance == 1
    with pytest.raises(ParameterError, match="this device's limit"):
        noise_for(model.card, ClientSettings())


@pytest.mark.slow
def test_the_model_says_how_far_apart_two_people_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The unit shrinks by what the median shrinks by."""
    limited = model_of(2, 2)
    monkeypatch.setattr(space_fit, "DEVICE_REACH", UNLIMITED)
    unlimited = model_of(2, 2)
    shrunk = limited.card.space.encoder.unit / unlimited.card.space.encoder.unit
    assert limited.median_distance == pytest.approx(shrunk, abs=0.006)


def test_train_says_what_it_did_and_the_model_remembers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = heavy_tailed(2)
    lines = [
        f"{person},{table.item_keys[item]},{stars}"
        for person, item, stars in zip(table.person, table.item, table.rating, strict=True)
    ]
    (tmp_path / "ratings.csv").write_text("\n".join(["user,item,rating", *lines]))
    (tmp_path / "items.csv").write_text("item,title\nPlace 0,Place 0\n")
    files = {"--ratings": "ratings.csv", "--items": "items.csv", "--out": "model"}
    given = [word for option, name in files.items() for word in (option, str(tmp_path / name))]
    options = ["--device-epsilon", "2", "--min-ratings", "5"]
    cli(["train", *given, *options], standalone_mode=False)
    said, model = capsys.readouterr().out, artifact.load(tmp_path / "model")
    assert 0 < model.median_distance < 1
    assert f"{model.median_distance:g} the median of two people" in said
    assert "devices refuse a space so wide" in said


def test_ordinary_people_are_1_apart(model: ItemModel) -> None:
    assert model.median_distance == 1

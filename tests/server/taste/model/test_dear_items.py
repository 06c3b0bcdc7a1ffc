"""Models of items with payloads: slates by their vectors, kept from catalog to catalog."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load as decode

from askew.errors import DataError, ParameterError
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.signal import Query, Signal
from askew.retrieval.buckets import bucket_rule
from askew.spaces.buckets import SlateCodebook
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.demo.simulation import films, simulate
from askew_server.ratings import RatingTable
from askew_server.retrieval.snapshot import Retriever
from askew_server.taste.model import artifact
from askew_server.taste.model.item_model import ItemModel, train, update
from askew_server.taste.prior.people import EPSILONS, PriorPeople
from askew_server.taste.prior.source import Cohort, PublishedRatings
from askew_server.taste.training.options import TrainingOptions

OPTIONS = TrainingOptions(
    epsilon=4.0,
    k=3,
    dimension=2,
    ranking_dimension=6,
    min_ratings=5,
    rule="buckets",
    has_payloads=True,
)
Forge = Callable[..., None]
Refusal = Callable[[Path], str]


@cache
def small_table(n_people: int = 200) -> RatingTable:
    ratings = simulate(films()[:60], n_people=n_people)
    keys = tuple(film.title for film in films()[:60])
    return RatingTable(ratings.person, ratings.item, ratings.rating, n_people, keys)


@cache
def payload_model() -> ItemModel:
    return train(small_table(), {}, OPTIONS, source="simulated", prior=Cohort("volunteers"))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    artifact.save(payload_model(), tmp_path / "has_payloads")
    return tmp_path / "has_payloads"


def slates_meant(model: ItemModel) -> SlateCodebook:
    assert isinstance(model.card.space.buckets, SlateCodebook)
    return model.card.space.buckets


def people_of(model: ItemModel) -> PriorPeople:
    assert model.prior is not None
    return model.prior


def names(model: ItemModel) -> NDArray[np.int64]:
    named = people_of(model).named
    assert named is not None
    return named


def later(gone: list[int]) -> ItemModel:
    """The model when nobody rates these items any more."""
    table = small_table()
    stays = ~np.isin(table.item, gone)
    fewer = replace(
        table, person=table.person[stays], item=table.item[stays], rating=table.rating[stays]
    )
    return update(payload_model(), fewer, {}, source="later")


def served(model: ItemModel, slate: int, k: int = 3) -> tuple[int, ...]:
    retriever = Retriever(model.card, model.catalog, model.prior)
    response = RandomizedResponse.for_epsilon(len(slates_meant(model)), Fraction(4))
    signal = Signal(model.card.space.version, response, (slate,))
    return retriever.answer(Query(signal, k)).item_ids


# -- training --------------------------------------------------------------------------------------


def test_a_model_of_dear_items_means_slates_by_items_of_its_catalog() -> None:
    slates, catalog = slates_meant(payload_model()), payload_model().catalog
    assert slates.boosts.shape[1] == 3
    items = slates.found_in(catalog.vectors)
    assert (items >= 0).all()
    np.testing.assert_array_equal(slates.vectors, catalog.vectors[items])
    np.testing.assert_array_equal(slates.boosts, catalog.boosts[items])


def test_the_server_reckons_with_the_slates_that_devices_name() -> None:
    """Planted bug: people's names without what they have seen, which their devices know."""
    model = payload_model()
    slates, people = slates_meant(model), people_of(model)
    assert len(set(names(model).tolist())) > len(slates) / 2
    by_device = [
        slates.of(taste.astype(np.float64), model.catalog.vectors[people.seen[[row]].indices])
        for row, taste in enumerate(people.tastes)
    ]
    assert names(model).tolist() == by_device
    blind = slates.of_each(people.tastes.astype(np.float64))
    assert (blind != names(model)).mean() > 0.2


@pytest.mark.nightly
def test_slates_by_their_vectors_beat_the_linear_encoder() -> None:
    """Same people, same k, same plain epsilon; figures are of people held out."""
    dear, other = (
        train(small_table(1000), {}, options, source="simulated", prior=Cohort("same"))
        for options in (OPTIONS, replace(OPTIONS, has_payloads=False))
    )
    by_vectors, linear = (model.figures["buckets"].ndcg.mean for model in (dear, other))
    assert by_vectors > linear  # .308 and .297


def test_dear_items_without_a_prior_are_refused() -> None:
    with pytest.raises(ParameterError, match="prior"):
        train(small_table(), {}, replace(OPTIONS, rule="codebook"), source="simulated")


@pytest.mark.parametrize("wanted", [{"rule": "auto"}, {"has_payloads": False}])
def test_a_prior_of_one_person_makes_no_slates_and_says_so(wanted: dict[str, Any]) -> None:
    """Planted bug: a model whose items are not dear after all, and no word of it."""
    table = small_table()
    first = table.person == 0
    alone = RatingTable(
        table.person[first], table.item[first], table.rating[first], 1, table.item_keys
    )
    with pytest.raises(DataError, match="prior of two people"):
        train(
            table,
            {},
            replace(OPTIONS, **wanted),
            source="simulated",
            prior=PublishedRatings(alone, "one"),
        )


# -- catalogs that follow --------------------------------------------------------------------------


def test_a_new_catalog_fills_each_slate_for_those_who_name_it() -> None:
    """Planted bugs: all alike whoever names a slate; names by the items that are left."""
    meant = np.unique(slates_meant(payload_model()).found_in(payload_model().catalog.vectors))
    gone = [small_table().item_keys.index(payload_model().keys[item]) for item in meant[::2]]
    model = later(gone)
    assert model.card.space == payload_model().card.space
    assert names(model).tolist() == names(payload_model()).tolist()
    prior = people_of(model).prior(model.catalog, model.card.n_held)
    odds = [
        RandomizedResponse.for_epsilon(2, each).odds for each in sorted({*EPSILONS, Fraction(4)})
    ]
    count, shared = len(slates_meant(model)), model.catalog.shared_slate
    rule = bucket_rule(prior, names(model), count, shared, odds)
    response = RandomizedResponse.for_epsilon(count, Fraction(4))
    version = model.card.space.version
    expected = [rule.answer(Signal(version, response, (slate,)), 3) for slate in range(count)]
    answers = [served(model, slate) for slate in range(count)]
    assert answers == expected
    assert len(set(answers)) > 1
    left = set(model.keys)
    assert not left & {small_table().item_keys[item] for item in gone}


def test_names_are_kept_with_the_people_who_gave_them(saved: Path) -> None:
    loaded = artifact.load(saved)
    assert loaded.card == payload_model().card
    assert names(loaded).tolist() == names(payload_model()).tolist()
    some = np.array([5, 2])
    expected = names(loaded)[some]
    np.testing.assert_array_equal(people_of(loaded).only(some).named, expected)


FORGED: dict[str, Callable[[dict[str, NDArray[Any]]], object]] = {
    "no names": lambda a: a.pop("prior_named"),
    "a name too few": lambda a: a.update(prior_named=a["prior_named"][1:]),
    "a name of no slate": lambda a: a.update(prior_named=a["prior_named"] + 4096),
    "a name below the first": lambda a: a.update(prior_named=a["prior_named"] - 4096),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_names_are_refused(saved: Path, forge: Forge, refusal: Refusal, case: str) -> None:
    arrays = decode((saved / "arrays.safetensors").read_bytes())
    forge(saved, arrays=dict(arrays))
    artifact.load(saved)  # what forging alone does is no reason
    FORGED[case](arrays)
    forge(saved, arrays={n: np.ascontiguousarray(array) for n, array in arrays.items()})
    assert refusal(saved)


def no_slates(space: pb.FeatureSpace) -> None:
    space.slate_codes, space.slate_boosts, space.slate_size = b"", b"", 0


def one_slate(space: pb.FeatureSpace) -> None:
    slates = len(space.slate_boosts) // space.slate_size
    space.slate_codes = space.slate_codes[: len(space.slate_codes) // slates]
    space.slate_boosts = space.slate_boosts[: space.slate_size]


@pytest.mark.parametrize("change", [no_slates, one_slate])
def test_names_without_their_slates_are_refused(
    saved: Path, forge: Forge, refusal: Refusal, change: Callable[[pb.FeatureSpace], None]
) -> None:
    forge(saved, card=lambda card: change(card.space))
    assert refusal(saved)

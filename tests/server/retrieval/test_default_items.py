"""Where devices hold default items, a server answers with what those lack; and at any odds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from small_world import made_buckets, made_card, made_catalog, made_encoder, made_space

from askew.catalog.catalog import Catalog
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.signal import Query, Signal
from askew.protocol.utility_table import RuleKind
from askew.retrieval.buckets import labels_of
from askew_server.retrieval.snapshot import Retriever
from askew_server.taste.prior.people import PriorPeople

HELD, ITEMS, PEOPLE = 4, 14, 40
RNG = np.random.default_rng(12)
VECTORS = RNG.normal(size=(ITEMS, 3))
TASTES = RNG.normal(size=(PEOPLE, 3)).astype(np.float32)
SEEN = RNG.random((PEOPLE, ITEMS)) < 0.2
PRIOR = PriorPeople(
    TASTES, 2 * RNG.random((PEOPLE, 2)), csr_array(SEEN * 1.0), np.ones(PEOPLE), "made up"
)
ORDER = (9, 5, 12, 4, 7, 13, 6, 11, 10, 8)  # of all that is not held
CATALOG = made_catalog([(float(a), float(b), float(c)) for a, b, c in VECTORS], ORDER)
WHOLE = replace(CATALOG, shared_slate=(2, 9, 5, 12, 0, 4, 7, 13, 6, 11))
SPACE = made_space(made_encoder(), made_buckets())


def retriever_of(
    kind: RuleKind = RuleKind.POSTERIOR, *, held: int = HELD, catalog: Catalog = CATALOG
) -> Retriever:
    card = made_card(SPACE, catalog, 10)
    rule = replace(card.rule, kind=kind, epsilon=4.0)
    return Retriever(replace(card, rule=rule, n_default=held), catalog, PRIOR)


def scores_of_people(catalog: Catalog) -> NDArray[np.float64]:
    """What every item is worth to each person, (m, n_items): nothing where seen or disliked."""
    found: NDArray[np.float64] = np.maximum(TASTES @ catalog.scoring.T, 0).astype(np.float64)
    found[SEEN] = 0
    return found


def bucket_query(retriever: Retriever, bucket: int, epsilon: Fraction, k: int) -> Query:
    response = RandomizedResponse.for_epsilon(4, epsilon)
    return Query(Signal(retriever.card.space.version, response, (bucket,)), k)


def point_query(retriever: Retriever, x: float, y: float, k: int) -> Query:
    lattice = LatticeLaplace.for_epsilon(Fraction(4))
    values = (round(x / lattice.step), round(y / lattice.step))
    return Query(Signal(retriever.card.space.version, lattice, values), k)


def test_people_of_a_prior_weigh_what_an_item_adds_to_the_best_that_they_hold() -> None:
    """By the definition, person by person. Planted bugs: what is held is forgotten; a held item
    that was seen counts.
    """
    prior = PRIOR.prior(CATALOG, HELD)
    assert prior.items.tolist() == list(range(HELD, ITEMS))
    scores = scores_of_people(CATALOG)
    for person in range(PEOPLE):
        best = scores[person, :HELD].max()
        expected = [max(score - best, 0) for score in scores[person, HELD:].tolist()]
        assert prior.scores[:, person].tolist() == pytest.approx(expected, abs=1e-6)


def test_few_people_at_a_time_make_the_same_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = PRIOR.prior(CATALOG, HELD)
    monkeypatch.setattr("askew_server.taste.prior.people._AT_ONCE", 3 * ITEMS)
    parts = PRIOR.prior(CATALOG, HELD)
    assert parts.items.tolist() == whole.items.tolist()
    assert parts.scores == pytest.approx(whole.scores, abs=1e-6)


@pytest.mark.parametrize(
    "kind",
    [RuleKind.NONE, RuleKind.OFFSETS, RuleKind.CODEBOOK, RuleKind.POSTERIOR, RuleKind.BUCKETS],
)
def test_no_answer_names_what_every_device_has(kind: RuleKind) -> None:
    retriever = retriever_of(kind)
    queries = [point_query(retriever, x, y, k) for x in (0, 1, 2) for y in (0, 2) for k in (3, 10)]
    queries += [bucket_query(retriever, b, Fraction(3), k) for b in range(4) for k in (3, 10)]
    for query in queries:
        answer = retriever.answer(query).item_ids
        assert len(set(answer)) == query.k
        assert min(answer) >= HELD


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(4), Fraction(9)])
@pytest.mark.parametrize("bucket", range(4))
@pytest.mark.parametrize(("n_default", "catalog"), [(HELD, CATALOG), (ITEMS, WHOLE)])
def test_an_answer_complements_what_is_held(
    n_default: int, catalog: Catalog, bucket: int, epsilon: Fraction
) -> None:
    """Against the greedy pair by what whoever may have sent it has in the end, at the odds sent;
    and never below the slate for anybody. Where the default items is the whole catalog, whoever
    asks holds nothing. Planted bugs: what is held is forgotten; slates by the odds of training
    alone; all items left out of slates where all are default items.
    """
    held = n_default if n_default < ITEMS else 0
    retriever = retriever_of(held=n_default, catalog=catalog)
    scores, query = scores_of_people(catalog), bucket_query(retriever, bucket, epsilon, 2)
    response = RandomizedResponse.for_epsilon(4, epsilon)
    label = labels_of(made_buckets(), TASTES.astype(np.float64))
    weights = np.where(label == bucket, float(response.odds), 1.0)
    weights /= weights.sum()
    before = scores[:, :held].max(axis=1, initial=0)

    def added(items: tuple[int, ...]) -> float:
        return float((np.maximum(scores[:, list(items)].max(axis=1), before) - before) @ weights)

    others = range(held, ITEMS)
    first = max(others, key=lambda item: added((item,)))
    greedy = max(added((first, item)) for item in others)
    reached = added(retriever.answer(query).item_ids)
    assert reached >= 0.99 * greedy
    assert reached >= added(catalog.shared_slate[:2]) - 1e-6

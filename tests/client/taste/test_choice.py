"""The mode that a device takes: by its settings, the card and what it holds, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from small_world import (
    made_buckets,
    made_card,
    made_catalog,
    made_codebook,
    made_encoder,
    made_space,
)

from askew.errors import ParameterError
from askew.protocol.model_card import ModelCard
from askew.protocol.utility_table import MechanismName, ModeUtility, ServingMode, UtilityTable
from askew_client.settings.settings import ClientSettings, ModeName
from askew_client.taste.choice import CachedItems, Reason, Taken, choose
from askew_client.taste.words import in_words

ITEMS, DEFAULT = 24, 6
ALL = CachedItems(ITEMS, 900)
SOME = CachedItems(DEFAULT, 300)
DEVICE = ClientSettings(max_diameter=32.0, max_one_rating=32.0)  # geo_laplace at 4, k 8
BUCKETS = replace(DEVICE, mechanism="bucket_rr", epsilon=Fraction(3))

WHOLE = ModeUtility(ServingMode.LOCAL, ITEMS, 900, 1.0)
SHARED = ModeUtility(ServingMode.CACHED, DEFAULT, 300, 0.7)


def signal(
    mechanism: MechanismName, epsilon: str, k: int, gain: float = 0.1, error: float = 0.01
) -> ModeUtility:
    return ModeUtility(
        ServingMode.QUERY, DEFAULT, 300, 0.7 + gain, gain, error, mechanism, Fraction(epsilon), k
    )


def card_with(*offers: ModeUtility, proposed: int = 0) -> ModelCard:
    """A card of 24 films; a square of width 2, where one rating moves a point by at most 3/4."""
    encoder = made_encoder(ranking=2, least_likes=1, unit=2.0, clip=0.375)
    catalog = made_catalog([(n / 4, -n / 4) for n in range(ITEMS)])
    card = made_card(made_space(encoder, made_buckets(ranking=2)), catalog, 20)
    return replace(card, utility_table=UtilityTable(offers, proposed) if offers else None)


def terms(taken: Taken) -> tuple[str, Fraction, int]:
    return taken.settings.mechanism, taken.settings.epsilon, taken.settings.k


def test_what_is_held_whole_is_ranked_here_whatever_the_card_says() -> None:
    taken = choose(DEVICE, card_with(signal("bucket_rr", "1", 5), WHOLE), ALL)
    assert (taken.mode, taken.reason, taken.offer) == (ServingMode.LOCAL, Reason.HELD, WHOLE)


def test_dear_items_are_asked_for_though_their_vectors_are_held() -> None:
    """Planted bug: a device that ranks what it cannot read, and never asks."""
    slates = made_codebook([[(0.0, 0.25)], [(0.25, 0.0)], [(0.5, 0.0)], [(0.75, 0.0)]])
    offer = signal("bucket_rr", "2", 5)
    card = card_with(WHOLE, offer, proposed=1)
    dear = replace(card, space=replace(card.space, buckets=slates))
    assert (card.has_payloads, dear.has_payloads) == (False, True)
    assert choose(DEVICE, card, ALL).mode is ServingMode.LOCAL
    taken = choose(DEVICE, dear, ALL)
    assert (taken.mode, taken.reason, taken.offer) == (ServingMode.QUERY, Reason.PROPOSED, offer)


@pytest.mark.parametrize(
    ("held", "budget"), [(CachedItems(ITEMS - 1, 900), 4_000_000), (CachedItems(ITEMS, 901), 900)]
)
def test_the_device_counts_items_and_bytes_itself(held: CachedItems, budget: int) -> None:
    """Planted bugs: believing the size that the card says; taking part of a catalog for all."""
    taken = choose(replace(DEVICE, byte_budget=budget), card_with(WHOLE), held)
    assert (taken.mode, taken.reason) == (ServingMode.CACHED, Reason.NOT_PROPOSED)


def test_a_card_without_a_table_gets_no_signal() -> None:
    taken = choose(DEVICE, card_with(), SOME)
    assert (taken.mode, taken.reason) == (ServingMode.CACHED, Reason.NO_TABLE)
    words = in_words(taken, card_with())
    assert "does not say what a signal is worth; mode query asks" in words.reason
    assert "nothing is drawn, charged or sent" in words.reason


def test_a_card_that_proposes_none_gets_none_though_a_row_would_gain() -> None:
    table = (SHARED, signal("bucket_rr", "1", 5))
    taken = choose(DEVICE, card_with(*table), SOME)
    assert (taken.mode, taken.reason, taken.offer) == (
        ServingMode.CACHED,
        Reason.NOT_PROPOSED,
        SHARED,
    )


def test_a_proposal_that_costs_no_more_in_any_unit_is_taken_as_it_is() -> None:
    """Between any two 2 <= 4 * 4, for one rating 2 <= 4 * 3/4, unit distance 2 <= 4."""
    offer = signal("bucket_rr", "2", 5)
    taken = choose(DEVICE, card_with(offer), SOME)
    assert (taken.mode, taken.reason, taken.offer) == (ServingMode.QUERY, Reason.PROPOSED, offer)
    assert terms(taken) == ("bucket_rr", Fraction(2), 5)


@pytest.mark.parametrize(
    ("own", "offer"),
    [
        # 4 <= 16 between any two and 4 <= 4 one unit apart, but 4 > 3 for one rating.
        (DEVICE, signal("bucket_rr", "4", 5)),
        # 3 <= 3 for one rating and one unit apart, but 4 * 1 > 3 between any two.
        (BUCKETS, signal("geo_laplace", "1", 5)),
        (DEVICE, signal("geo_laplace", "8", 5)),
        # A signal that costs less, and more results than this device asks for.
        (DEVICE, signal("bucket_rr", "1", 20)),
    ],
)
def test_a_dearer_proposal_is_not_taken(own: ClientSettings, offer: ModeUtility) -> None:
    taken = choose(own, card_with(offer, SHARED), SOME)
    assert (taken.mode, taken.reason) == (ServingMode.CACHED, Reason.NONE_WITHIN)
    assert taken.refusal is not None
    assert taken.refusal.offer == offer
    wider = replace(
        own, mechanism=offer.mechanism or "geo_laplace", epsilon=offer.epsilon, k=offer.k
    )
    taken = choose(wider, card_with(offer, SHARED), SOME)  # the settings that the refusal names
    assert (taken.mode, taken.reason, taken.offer) == (ServingMode.QUERY, Reason.PROPOSED, offer)


def test_a_space_that_the_settings_do_not_enter_has_no_larger_limit() -> None:
    """Planted bug: taking the card's diameter of 4 for the limit, which is of a space that this
    device would refuse.
    """
    narrow = replace(DEVICE, max_diameter=0.25)  # at most 4 * 1/4 between any two
    assert choose(narrow, card_with(signal("bucket_rr", "1", 5)), SOME).mode is ServingMode.QUERY
    assert choose(narrow, card_with(signal("bucket_rr", "2", 5)), SOME).mode is ServingMode.CACHED
    assert (
        choose(narrow, card_with(signal("geo_laplace", "1/8", 5)), SOME).mode is ServingMode.CACHED
    )


def test_the_best_row_within_the_settings_stands_in_for_a_dear_proposal() -> None:
    best = signal("bucket_rr", "2", 8, gain=0.08)
    table = (
        signal("bucket_rr", "8", 8, gain=0.3),
        signal("bucket_rr", "1", 8, gain=0.05),
        best,
        signal("bucket_rr", "2", 20, gain=0.2),
    )
    taken = choose(DEVICE, card_with(*table), SOME)
    assert (taken.mode, taken.reason, taken.offer) == (
        ServingMode.QUERY,
        Reason.BEST_WITHIN,
        best,
    )
    assert terms(taken) == ("bucket_rr", Fraction(2), 8)


@pytest.mark.parametrize(
    "offer",
    [
        signal("bucket_rr", "1", 5, gain=0.019, error=0.01),
        signal("bucket_rr", "1", 5, gain=0.0, error=0.0),
        signal("bucket_rr", "1", 5, gain=-0.1, error=0.01),
        signal("bucket_rr", "1.1", 5),
        signal("bucket_rr", "1", 7),
        signal("bucket_rr", "1", 50),
    ],
)
def test_what_does_not_gain_or_would_mark_a_device_is_taken_by_no_settings(
    offer: ModeUtility,
) -> None:
    """Planted bugs: one standard error instead of two; any epsilon or k, by which a device with a
    card of its own is known again; more results than the server answers, which are 20.
    """
    taken = choose(replace(DEVICE, k=1000), card_with(offer), SOME)
    assert taken.mode is ServingMode.CACHED
    assert taken.refusal is not None
    assert taken.refusal.cost is None
    assert taken.refusal.obstacle


# The person's own mode


@pytest.mark.parametrize("held", [ALL, SOME])
@pytest.mark.parametrize("table", [(), (WHOLE,), (signal("bucket_rr", "1", 5),)])
def test_a_way_that_the_person_chose_is_taken_at_the_persons_own_terms(
    held: CachedItems, table: tuple[ModeUtility, ...]
) -> None:
    chosen: tuple[tuple[ModeName, ServingMode], ...] = (
        ("cached", ServingMode.CACHED),
        ("query", ServingMode.QUERY),
    )
    for name, mode in chosen:
        taken = choose(replace(DEVICE, mode=name), card_with(*table), held)
        assert (taken.mode, taken.reason) == (mode, Reason.CHOSEN)
        assert terms(taken) == ("geo_laplace", Fraction(4), 8)


def test_whole_is_refused_where_not_all_is_held() -> None:
    own = replace(DEVICE, mode="local")
    assert choose(own, card_with(), ALL).reason is Reason.CHOSEN
    with pytest.raises(ParameterError, match="byte budget, 4000000"):
        choose(own, card_with(), SOME)


# Words


def test_a_dear_proposal_is_told_with_what_it_brings_and_what_it_costs() -> None:
    card = card_with(signal("bucket_rr", "4", 8))
    words = in_words(choose(DEVICE, card, SOME), card)
    assert words.name == "cached"
    proposed, price = words.notes
    assert proposed == (
        "This server proposes a signal, bucket_rr at epsilon 4, k 8 (NDCG@10 0.800, "
        "+0.100 over as many items for everybody, standard error 0.010)."
    )
    assert price == (
        "It would cost 4 between any two people, 4 for one rating, 4 per unit distance; by your "
        "settings at most 16 between any two people, 3.01 for one rating, 4 per unit distance. "
        "These settings take it: mechanism bucket_rr, epsilon 4, k 8."
    )


def test_a_way_that_the_card_does_not_propose_is_told_what_the_card_does() -> None:
    card = card_with(SHARED, signal("geo_laplace", "4", 8, gain=0.01, error=0.02))
    words = in_words(choose(replace(DEVICE, mode="query"), card, SOME), card)
    assert words.reason == (
        "one signal, geo_laplace at epsilon 4, k 8 (NDCG@10 0.710, +0.010 over as many "
        "items for everybody, standard error 0.020); as you chose"
    )
    assert words.notes == ("This server proposes no signal (NDCG@10 0.700).",)


def test_where_items_are_dear_a_way_that_sends_nothing_says_what_it_lacks() -> None:
    """Their slates have meanings: what the items hold comes with an answer alone."""
    card = card_with()
    dear = replace(card, space=replace(card.space, buckets=made_codebook([[(1.0, 0.0)]] * 2)))
    for held in (ALL, SOME):
        note = in_words(choose(DEVICE, dear, held), dear).notes[0]
        assert "comes with an answer alone: mode query asks" in note
    assert not in_words(choose(DEVICE, card, ALL), card).notes


def test_a_signal_where_all_is_held_is_told_that_none_is_needed() -> None:
    words = in_words(choose(replace(DEVICE, mode="query"), card_with(), ALL), card_with())
    assert "by itself it would rank them all, for nothing" in words.notes[0]

"""The mode that a device takes: by its settings, the card and what it holds, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_world import made_card, made_catalog, made_encoder, made_space

from askew.errors import ParameterError
from askew.protocol.model_card import ModelCard
from askew.protocol.modes import ServingMode
from askew_client.settings.settings import ClientSettings, ModeName
from askew_client.taste.choice import CachedItems, Reason, choose, in_words, noise_for

ITEMS, DEFAULT = 24, 6
ALL = CachedItems(ITEMS, 900)
SOME = CachedItems(DEFAULT, 300)
DEVICE = ClientSettings(max_ratings_apart=32.0, k=8)


def card_that(*, says_ask: bool, unit: float = 2.0) -> ModelCard:
    """A card of 24 films; a square, where one rating moves a point by at most 3/4."""
    encoder = made_encoder(ranking=2, least_likes=1, unit=unit, clip=0.375)
    catalog = made_catalog([(n / 4, -n / 4) for n in range(ITEMS)])
    return replace(made_card(made_space(encoder), catalog, 20), worth_asking=says_ask)


ASK, REST = card_that(says_ask=True), card_that(says_ask=False)


@pytest.mark.parametrize("card", [ASK, REST])
def test_what_is_held_whole_is_ranked_here_whatever_the_card_says(card: ModelCard) -> None:
    """Planted bug: what the card says comes first."""
    taken = choose(DEVICE, card, ALL)
    assert (taken.mode, taken.reason) == (ServingMode.LOCAL, Reason.HELD)


@pytest.mark.parametrize(
    ("held", "budget"), [(CachedItems(ITEMS - 1, 900), 4_000_000), (CachedItems(ITEMS, 901), 900)]
)
def test_the_device_counts_items_and_bytes_itself(held: CachedItems, budget: int) -> None:
    """Planted bug: taking part of a catalog for all."""
    taken = choose(replace(DEVICE, byte_budget=budget), REST, held)
    assert (taken.mode, taken.reason) == (ServingMode.CACHED, Reason.NOT_WORTH_IT)


def test_a_card_that_does_not_say_that_a_signal_is_worth_it_gets_none() -> None:
    taken = choose(DEVICE, REST, SOME)
    assert (taken.mode, taken.reason) == (ServingMode.CACHED, Reason.NOT_WORTH_IT)
    words = in_words(taken, REST)
    assert "does not say that a signal is worth it; mode query asks" in words.reason
    assert "nothing is drawn, charged or sent" in words.reason


def test_a_card_that_says_so_is_asked_by_the_settings() -> None:
    taken = choose(DEVICE, ASK, SOME)
    assert (taken.mode, taken.reason, taken.settings) == (
        ServingMode.QUERY,
        Reason.WORTH_IT,
        DEVICE,
    )
    assert in_words(taken, ASK).reason.startswith(
        "one signal at epsilon 0.8 a rating, k 8; this server"
    )


@pytest.mark.parametrize("held", [ALL, SOME])
@pytest.mark.parametrize("card", [ASK, REST])
def test_a_way_that_the_person_chose_is_taken(held: CachedItems, card: ModelCard) -> None:
    chosen: tuple[tuple[ModeName, ServingMode], ...] = (
        ("cached", ServingMode.CACHED),
        ("query", ServingMode.QUERY),
    )
    for name, mode in chosen:
        taken = choose(replace(DEVICE, mode=name), card, held)
        assert (taken.mode, taken.reason) == (mode, Reason.CHOSEN)


def test_who_asks_though_all_is_held_is_told() -> None:
    words = in_words(choose(replace(DEVICE, mode="query"), ASK, ALL), ASK)
    assert words.notes == (
        "This device holds every item: by itself it would rank them all, for nothing.",
    )
    assert not in_words(choose(replace(DEVICE, mode="query"), ASK, SOME), ASK).notes


def test_whole_is_refused_where_not_all_is_held() -> None:
    own = replace(DEVICE, mode="local")
    assert choose(own, REST, ALL).reason is Reason.CHOSEN
    with pytest.raises(ParameterError, match="byte budget, 4000000"):
        choose(own, REST, SOME)


# What no card changes


@given(
    st.builds(card_that, says_ask=st.booleans(), unit=st.sampled_from([0.5, 2.0, 2.5])),
    st.sampled_from(["auto", "cached", "query"]),
    st.sampled_from(["1/8", "1", "4"]),
    st.integers(1, 20),
    st.sampled_from([ALL, SOME]),
)
def test_no_card_changes_what_a_person_asks_by(
    card: ModelCard, mode: ModeName, epsilon: str, k: int, held: CachedItems
) -> None:
    """Planted bug: the signal of a card's proposal."""
    own = replace(DEVICE, mode=mode, epsilon_per_rating=epsilon, k=k)
    taken = choose(own, card, held)
    assert taken.settings == own
    assert taken.asks <= (mode != "cached")
    rate = noise_for(card, taken.settings).epsilon
    assert own.epsilon_per_rating * Fraction(999, 1000) < rate <= own.epsilon_per_rating


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        ({"max_ratings_apart": 3.9}, "diameter"),
        ({"k": 21}, "k"),
    ],
)
def test_a_space_that_tells_too_much_is_not_asked(limits: dict[str, Any], name: str) -> None:
    """A square of width 2 is 4 wide. Planted bug: limits that nobody checks."""
    with pytest.raises(ParameterError, match=name):
        noise_for(ASK, replace(DEVICE, **limits))

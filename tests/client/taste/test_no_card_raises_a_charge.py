"""Whatever a card says, a signal costs no more than the person's own settings, in three units."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hypothesis import example, given, settings
from hypothesis import strategies as st
from small_world import made_buckets, made_card, made_catalog, made_encoder, made_space

from askew.protocol.model_card import ModelCard
from askew.protocol.utility_table import MECHANISMS as MECHANISM_NAMES
from askew.protocol.utility_table import MechanismName, ModeUtility, ServingMode, UtilityTable
from askew.spaces.vectors import FeatureSpace
from askew_client.settings.settings import ClientSettings
from askew_client.taste.choice import EPSILONS, SIZES, CachedItems, choose, mechanism_for

CATALOG = made_catalog([(n / 8, -n / 8) for n in range(120)])
SOME = CachedItems(6, 300)
MECHANISMS: st.SearchStrategy[MechanismName] = st.sampled_from(MECHANISM_NAMES)
NUMBERS = st.fractions(min_value=Fraction(1, 8), max_value=16, max_denominator=64)


@st.composite
def offers(draw: st.DrawFn) -> ModeUtility:
    """A row: mostly one that a device could take, sometimes one of terms that would mark it."""
    gain, error = draw(st.floats(-0.2, 0.5)), draw(st.floats(0, 0.1))
    if draw(st.integers(0, 5)) == 0:
        return ModeUtility(
            draw(st.sampled_from([ServingMode.CACHED, ServingMode.LOCAL])), 6, 300, 0.5
        )
    epsilon = draw(st.sampled_from(EPSILONS) | NUMBERS)
    k = draw(st.sampled_from(SIZES) | st.integers(1, 200))
    mechanism = draw(MECHANISMS)
    return ModeUtility(ServingMode.QUERY, 6, 300, 0.5, gain, error, mechanism, epsilon, k)


@st.composite
def cards(draw: st.DrawFn) -> ModelCard:
    """Any table, in a space of any width, in which one rating moves a point little or far."""
    encoder = made_encoder(
        ranking=2,
        least_likes=1,
        unit=draw(st.integers(1, 64)) / 16,
        clip=draw(st.integers(1, 64)) / 32,
    )
    rows = draw(st.lists(offers(), min_size=1, max_size=8))
    table = UtilityTable(tuple(rows), draw(st.integers(0, len(rows) - 1)))
    card = made_card(made_space(encoder, made_buckets(ranking=2)), CATALOG, 120)
    return replace(card, utility_table=table)


@st.composite
def devices(draw: st.DrawFn) -> ClientSettings:
    """Any settings."""
    return ClientSettings(
        mechanism=draw(MECHANISMS),
        epsilon=draw(NUMBERS),
        k=draw(st.integers(1, 120)),
        max_diameter=draw(st.sampled_from([0.5, 4.0, 32.0])),
        max_one_rating=draw(st.sampled_from([0.25, 0.75, 32.0])),
    )


def most(own: ClientSettings, card: ModelCard) -> tuple[Fraction, Fraction, Fraction]:
    """What the person said that a signal may cost: any two people, one rating, unit distance."""
    if own.mechanism == "bucket_rr":
        return own.epsilon, own.epsilon, own.epsilon
    reach = card.space.encoder.reach()
    diameter = min(reach.diameter, Fraction(own.max_diameter))
    one_rating = min(reach.one_rating, Fraction(own.max_one_rating))
    return own.epsilon * diameter, own.epsilon * one_rating, own.epsilon


WIDE, NARROW = (
    made_space(made_encoder(ranking=2, least_likes=1, unit=u, clip=0.25), made_buckets(ranking=2))
    for u in (2.0, 0.25)
)
# Each is dearer in one unit alone, or has more results, which chance finds rarely.
FOR_ONE_RATING = ModeUtility(ServingMode.QUERY, 6, 300, 0.9, 0.4, 0.0, "bucket_rr", Fraction(4), 8)
ONE_UNIT_APART = ModeUtility(
    ServingMode.QUERY, 6, 300, 0.9, 0.4, 0.0, "geo_laplace", Fraction(4), 8
)
BETWEEN_ANY_TWO = ModeUtility(
    ServingMode.QUERY, 6, 300, 0.9, 0.4, 0.0, "geo_laplace", Fraction(2), 8
)


def proposing(offer: ModeUtility, space: FeatureSpace = WIDE) -> ModelCard:
    return replace(made_card(space, CATALOG, 120), utility_table=UtilityTable((offer,), 0))


@example(ClientSettings(), proposing(FOR_ONE_RATING))
@example(
    ClientSettings(mechanism="bucket_rr", epsilon=Fraction(3)), proposing(ONE_UNIT_APART, NARROW)
)
@example(ClientSettings(mechanism="bucket_rr", epsilon=Fraction(4)), proposing(BETWEEN_ANY_TWO))
@example(ClientSettings(k=4, mechanism="bucket_rr", epsilon=Fraction(4)), proposing(FOR_ONE_RATING))
@given(devices(), cards())
@settings(max_examples=150, deadline=None)
def test_no_card_raises_a_charge_in_any_unit_or_asks_for_more(
    own: ClientSettings, card: ModelCard
) -> None:
    """Planted bugs: leaving out any one of the three units, or k."""
    taken = choose(own, card, SOME)
    if taken.mode is not ServingMode.QUERY:
        assert taken.mode is ServingMode.CACHED
        return
    loss = mechanism_for(card, taken.settings).privacy_loss(card.space.encoder.reach())
    unit_distance = loss.epsilon_per_distance or loss.epsilon
    any_two, one_rating, unit = most(own, card)
    assert loss.epsilon <= any_two
    assert loss.epsilon_per_rating <= one_rating
    assert unit_distance <= unit
    assert taken.settings.k <= own.k
    assert taken.settings.epsilon in EPSILONS
    assert taken.settings.k in SIZES


@given(cards())
@settings(max_examples=40, deadline=None)
def test_no_card_makes_a_device_ask_that_was_told_not_to(card: ModelCard) -> None:
    assert choose(ClientSettings(mode="cached"), card, SOME).mode is ServingMode.CACHED
    assert choose(ClientSettings(), card, CachedItems(card.n_items, 900)).mode is ServingMode.LOCAL


@given(devices(), cards())
@settings(max_examples=40, deadline=None)
def test_no_card_changes_what_a_person_asks_by(own: ClientSettings, card: ModelCard) -> None:
    forced = replace(own, mode="query")
    assert choose(forced, card, SOME).settings == forced

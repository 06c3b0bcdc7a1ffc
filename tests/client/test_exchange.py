"""Ask, then pick: one person's side, played against the server's rule without a socket."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from askew.errors import (
    AskewError,
    BudgetExceeded,
    LedgerError,
    Malformed,
    ParameterError,
    ProfileError,
)
from askew.lattice import Lattice
from askew.randomness import ReplayBits
from askew.ranking import Slate
from askew.signal import Query, Signal
from askew_client.exchange import Exchange
from askew_client.settings import ClientSettings
from askew_client.signal_store import SignalStore

if TYPE_CHECKING:
    from client.conftest import Memory, Pair, SilentBits, UntouchableMemory

    Replay = Callable[[str], ReplayBits]

SLOT = "2026-11"
FAN = {3: 5.0, 0: 4.0, 9: 1.0}
STRANGER = {8: 5.0}
K4 = ClientSettings(epsilon=Fraction(2), k=4, lifetime_cap=Fraction(48), max_diameter=32.0)


def test_asking_gives_a_query_whose_signal_is_in_the_memory(
    pair: Pair, memory: Memory, replay: Replay
) -> None:
    exchange = pair.exchange(FAN)
    query = exchange.ask(SLOT, memory, replay("first"))
    assert query == Query(memory.signals[pair.card.space.version, SLOT], k=4)
    assert query.signal.lattice == Lattice.for_epsilon(K4.epsilon)
    drawn = query.signal.lattice.perturb(exchange.profile.vector, replay("first"))
    assert query.signal.coordinates == drawn


@pytest.mark.parametrize(
    ("ratings", "settings"),
    [
        pytest.param(FAN, K4, id="nothing"),
        pytest.param(FAN, replace(K4, k=6), id="k"),
        pytest.param(STRANGER, K4, id="the profile"),
        pytest.param(FAN, replace(K4, epsilon=Fraction(7)), id="epsilon, less private"),
        pytest.param(FAN, replace(K4, epsilon=Fraction(1, 7)), id="epsilon, more private"),
    ],
)
def test_asking_again_sends_the_stored_signal_whatever_has_changed(
    pair: Pair, memory: Memory, replay: Replay, ratings: dict[int, float], settings: ClientSettings
) -> None:
    """Planted bug: drawing again because the profile or a setting is another."""
    first = pair.exchange(FAN).ask(SLOT, memory, replay("first"))
    again = pair.exchange(ratings, settings).ask(SLOT, memory, replay("again"))
    assert again == Query(first.signal, settings.k)
    assert memory.charges == [Lattice.for_epsilon(K4.epsilon).epsilon]


def test_a_stored_signal_needs_no_randomness(
    pair: Pair, memory: Memory, replay: Replay, silent_bits: SilentBits
) -> None:
    first = pair.exchange(FAN).ask(SLOT, memory, replay("first"))
    assert pair.exchange(STRANGER).ask(SLOT, memory, silent_bits) == first


def test_another_slot_is_another_draw_and_another_charge(
    pair: Pair, memory: Memory, replay: Replay
) -> None:
    """Planted bug: the same noise for two slots, which would show how the profile moved."""
    bits = replay("one stream")
    exchange = pair.exchange(FAN)
    november = exchange.ask("2026-11", memory, bits)
    december = exchange.ask("2026-12", memory, bits)
    assert november.signal != december.signal
    assert memory.charges == [Fraction(2), Fraction(2)]


@pytest.mark.parametrize("epsilon", [Fraction(2), Fraction(1, 3), Fraction(7, 5), Fraction(1000)])
def test_the_charge_is_what_the_noise_guarantees_and_no_more_than_was_allowed(
    pair: Pair, memory: Memory, replay: Replay, epsilon: Fraction
) -> None:
    """Planted bug: charging the epsilon that was set instead of the lattice's own."""
    query = pair.exchange(FAN, replace(K4, epsilon=epsilon)).ask(SLOT, memory, replay("first"))
    assert memory.charges == [query.signal.lattice.privacy_loss().epsilon_per_distance]
    assert memory.charges[0] <= epsilon


REFUSALS: dict[str, tuple[type[AskewError], dict[int, float], ClientSettings, float]] = {
    "k above what the server answers": (ParameterError, FAN, replace(K4, k=7), 4.0),
    "a wide space": (ParameterError, FAN, K4, 16.5),
    "a narrow limit": (ParameterError, FAN, replace(K4, max_diameter=7.75), 4.0),
    "no ratings": (ProfileError, {}, K4, 4.0),
    "a rating above the scale": (ProfileError, {1: 5.5}, K4, 4.0),
    "a rating that is no number": (ProfileError, {1: float("nan")}, K4, 4.0),
    "an infinite rating": (ProfileError, {1: float("-inf")}, K4, 4.0),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_can_be_refused_is_refused_before_a_byte_is_drawn(
    pair_in_a_space: Callable[..., Pair],
    untouchable_memory: UntouchableMemory,
    silent_bits: SilentBits,
    case: str,
) -> None:
    error, ratings, settings, width = REFUSALS[case]
    pair = pair_in_a_space(width=width)
    with pytest.raises(error):
        pair.exchange(ratings, settings).ask(SLOT, untouchable_memory, silent_bits)


def test_a_stored_signal_that_does_not_fit_its_space_is_not_sent(
    pair: Pair, silent_bits: SilentBits
) -> None:
    """Planted bug: sending whatever the file holds."""
    exchange = pair.exchange(FAN)
    flat = Signal(exchange.card.space.version, Lattice(12, 1024), (5,))

    class Damaged:
        def remember(self, *_: object) -> Signal:
            return flat

    with pytest.raises(LedgerError, match="does not fit its space"):
        exchange.ask(SLOT, Damaged(), silent_bits)


@pytest.mark.parametrize("choose", [Exchange.rank, Exchange.pick])
def test_a_slate_that_moves_items_is_refused(
    pair: Pair, choose: Callable[[Exchange, Slate], object]
) -> None:
    """Planted bug: ranking by the answer's word, which lets a server make any item the pick."""
    exchange = pair.exchange(FAN)
    positions = pair.catalog.positions[[1, 2]]
    choose(exchange, Slate(exchange.card.catalog_version, (1, 2), positions))
    moved = Slate(exchange.card.catalog_version, (1, 2), positions[::-1].copy())
    with pytest.raises(Malformed, match="moves items"):
        choose(exchange, moved)


def test_the_widest_space_and_the_largest_k_are_allowed(
    pair_in_a_space: Callable[..., Pair], memory: Memory, replay: Replay
) -> None:
    widest = pair_in_a_space(width=16.0)  # two axes of 16 make a diameter of 32, the limit
    query = widest.exchange(FAN, replace(K4, k=6)).ask(SLOT, memory, replay("first"))
    assert query.k == 6


def test_a_spent_budget_refuses_before_a_byte_is_drawn(
    pair: Pair, silent_bits: SilentBits, tmp_path: Path
) -> None:
    store = SignalStore(tmp_path / "ledger", lifetime_cap=Fraction(199, 100))
    with pytest.raises(BudgetExceeded):
        pair.exchange(FAN).ask(SLOT, store, silent_bits)
    assert store.charges() == ()


def _distance(pair: Pair, exchange: Exchange, item: int) -> float:
    pairs = zip(pair.catalog.positions[item], exchange.profile.vector, strict=True)
    return sum(abs(float(place) - float(wish)) for place, wish in pairs)


@pytest.mark.parametrize("seed", range(40))
def test_the_pick_and_the_order_equal_brute_force(pair: Pair, seed: int) -> None:
    """Planted bugs: scoring with the signal, picking a rated item, ranking by id."""
    chance = np.random.default_rng(seed)
    rated = chance.choice(12, size=chance.integers(1, 9), replace=False)
    exchange = pair.exchange({int(item): float(chance.integers(1, 6)) for item in rated})
    ids = tuple(sorted(int(i) for i in chance.choice(12, size=6, replace=False)))
    slate = Slate(pair.card.catalog_version, ids, pair.catalog.positions[list(ids)])

    order = sorted(ids, key=lambda item: (_distance(pair, exchange, item), item))
    unrated = [item for item in order if item not in exchange.ratings]
    assert exchange.rank(slate) == tuple(order)
    assert exchange.pick(slate) == (unrated or order)[0]


def _slate(pair: Pair, *ids: int) -> Slate:
    return Slate(pair.card.catalog_version, ids, pair.catalog.positions[list(ids)])


def test_the_pick_skips_what_the_person_has_rated(pair: Pair) -> None:
    exchange = pair.exchange({4: 3.0})  # a rating in the middle: the profile is (0, 0), item 4
    assert exchange.rank(_slate(pair, 3, 4, 11)) == (4, 3, 11)
    assert exchange.pick(_slate(pair, 3, 4, 11)) == 3


def test_the_best_item_is_picked_where_all_are_rated(pair: Pair) -> None:
    exchange = pair.exchange({4: 3.0, 3: 3.0, 11: 3.0})
    assert exchange.pick(_slate(pair, 3, 4, 11)) == 4


def test_ties_go_to_the_lower_id(pair: Pair) -> None:
    exchange = pair.exchange({4: 3.0})  # items 2, 8 and 9 all lie at distance 2
    assert exchange.rank(_slate(pair, 2, 8, 9)) == (2, 8, 9)
    assert exchange.pick(_slate(pair, 8, 9)) == 8


def test_a_round_trip_ranks_exactly_what_was_asked_for(
    pair: Pair, memory: Memory, replay: Replay
) -> None:
    exchange = pair.exchange(FAN)
    slate = pair.retrieve(exchange.ask(SLOT, memory, replay("first")))
    assert sorted(exchange.rank(slate)) == list(slate.item_ids)
    assert len(slate.item_ids) == 4
    assert exchange.pick(slate) in slate.item_ids

"""Production objects on the kernel's random source, by what they put out: loss, and law.

Enumeration proves what the code makes of its coins. These see the whole, as a stranger does: the
shipped object, the shipped source, the shipped defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp

import pytest
from guarantees.audit.black_box import LEAK, Draw, audit_pure, delta_at_least, most_right, power

from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.mechanisms import LimitedDomain
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import SystemBits
from askew_client.settings.settings import LEVELS, ClientSettings

DRAWS, MOST = 40_000, 80_000
POWER = 0.999  # that as many draws have as are made, against a loss of a fifth more
Record = Callable[[str, object], None]
BITS = SystemBits()
DEFAULT = ClientSettings()


def refutes(
    mechanism: type, pair: tuple[Draw, Draw], claimed: float, share: float, record: Record
) -> bool:
    """Whether the claim is refuted; what was found goes to the report.

    share: of the outputs that tell all of the loss.
    """
    leak = most_right(LEAK * claimed)
    powers = {draws: power(claimed, share, leak, draws) for draws in range(DRAWS, MOST, 5_000)}
    draws, seen = next(each for each in powers.items() if each[1] > POWER)
    verdict = audit_pure(*pair, claimed, draws)
    record("mechanism", mechanism.__name__)
    record("claimed", claimed)
    record("measured", verdict.at_least)
    record("p_value", verdict.p_value)
    record("power", seen)
    return verdict.guilty


def of_a_taste(epsilon: Fraction, spans: Fraction) -> tuple[Draw, Draw]:
    """Signals of two people whose distance is worth `spans` at the default epsilon."""
    lattice = LatticeLaplace.for_epsilon(epsilon)
    apart = float(spans / DEFAULT.epsilon_per_rating)

    def draw(point: float) -> Draw:
        return lambda n: [
            min(max(int(z * lattice.step / apart * 8 // 1), -1), 8)
            for z in lattice.perturb([point] * n, BITS)
        ]

    return draw(0.0), draw(apart)


def test_a_taste_at_the_default_epsilon_loses_what_it_claims(record_property: Record) -> None:
    """At the distance that is worth 2; half the signals lie outside both points and tell it all."""
    pair = of_a_taste(DEFAULT.epsilon_per_rating, Fraction(2))
    share = 0.5 * (1 + 0.13)
    assert not refutes(LatticeLaplace, pair, 2.0, share, record_property)


def test_a_taste_at_a_half_more_than_the_default_epsilon_is_seen() -> None:
    pair = of_a_taste(DEFAULT.epsilon_per_rating * Fraction(3, 2), Fraction(2))
    assert audit_pure(*pair, 2.0, DRAWS).guilty


def of_a_place(epsilon: Fraction, claimed: Fraction) -> tuple[Draw, Draw]:
    """Noisy positions of two places whose distance is worth 2 at most, across a hexagon's side.

    Beyond each, as seen from the other, all positions tell as much as any.
    """
    lattice = HexagonalLattice.for_epsilon(epsilon)
    steps = round(HexagonalLattice.for_epsilon(claimed).inverse_rate * Fraction(2))
    scale = 2 ** (HexagonalLattice.for_epsilon(claimed).step_exponent - lattice.step_exponent)
    far = (round(steps / scale), round(steps / scale / 2))

    def side(z: tuple[int, int]) -> int:
        (i, j), (a, b) = z, (z[0] - far[0], z[1] - far[1])
        return 1 if a >= b >= 0 else -1 if i <= j <= 0 else 0

    def draw(i: int, j: int) -> Draw:
        point = lattice.point(i, j)
        return lambda n: [side(lattice.perturb(point, BITS)) for _ in range(n)]

    return draw(0, 0), draw(*far)


@pytest.mark.audit
def test_a_place_at_the_default_level_loses_what_it_claims(record_property: Record) -> None:
    pair = of_a_place(LEVELS[DEFAULT.level], LEVELS[DEFAULT.level])
    share = (1 + exp(-2)) / 6
    assert not refutes(HexagonalLattice, pair, 2.0, share, record_property)


@pytest.mark.audit
def test_a_place_at_a_half_more_than_the_default_level_is_seen() -> None:
    level = LEVELS[DEFAULT.level]
    assert audit_pure(*of_a_place(level * Fraction(3, 2), level), 2.0, DRAWS // 3).guilty


@pytest.mark.slow
@pytest.mark.parametrize("counts", [(1, 0, 0), pytest.param((2, 1, 0), marks=pytest.mark.audit)])
def test_an_item_of_one_person_shows_as_rarely_as_delta_says(
    counts: tuple[int, ...], record_property: Record
) -> None:
    """Planted bugs: a threshold that is not noisy; ln(1/delta) where ln(kbar/delta) belongs."""
    delta = Fraction(1, 20)
    mechanism = LimitedDomain(
        k=1,
        kbar=2,
        epsilon=1,
        delta=delta,
        neighbors=ADD_OR_REMOVE_ONE,
        max_items_per_unit=1,
        domain="positive",
    )

    def draw(seen: tuple[int, ...]) -> Draw:
        return lambda n: [tuple(mechanism.select(list(seen), bits=BITS)) for _ in range(n)]

    less = tuple(count - (place == counts.index(1)) for place, count in enumerate(counts))
    found = delta_at_least(draw(counts), draw(less), 1.0, DRAWS // 2)
    record_property("mechanism", "LimitedDomain")
    record_property("claimed", float(delta))
    record_property("measured", found)
    assert found <= delta

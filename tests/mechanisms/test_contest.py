"""Noisy scores are compared as the real numbers that they are."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from guarantees.audit.definitions import canonical, joint
from mechanisms.streams import ShakeBits, p_value

from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.mechanisms import Canonical, PNFJoint
from askew.mechanisms.contest import (
    FAMILIES,
    Contest,
    LazyUniform,
    Link,
    NoiseFamily,
    Noisy,
    compare,
    quantiles,
)
from askew.mechanisms.weights import Draws
from askew.noise.randomness import RandomBits, ReplayBits


@pytest.fixture(autouse=True)
def _many_digits() -> Iterator[None]:
    with localcontext(prec=200):
        yield


def quantile(family: NoiseFamily, e: Decimal) -> Decimal:
    """Q(e), from the definitions in the module's table."""
    if family == "gumbel":
        return -e.ln()
    upper = -(1 - (-e).exp()).ln()
    two = Decimal(2).ln()
    return {"exponential": upper, "laplace": upper - two if e < two else two - e}[family]


def exponential(family: NoiseFamily, value: Decimal) -> Decimal:
    """The e with Q(e) = value: minus the logarithm of the distribution function."""
    p = {
        "gumbel": (-(-value).exp()).exp(),
        "exponential": 1 - (-value).exp() if value > 0 else Decimal(0),
        "laplace": 1 - (-value).exp() / 2 if value > 0 else value.exp() / 2,
    }[family]
    return -p.ln()


class Written(LazyUniform):
    """A uniform whose every bit was written down: `digits` of 320."""

    def __init__(self, digits: int) -> None:
        super().__init__(digits >> 256)
        self._digits = digits

    def extend(self, bits: RandomBits) -> None:
        self.length += 64
        self.word = self._digits >> (320 - self.length)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("e", ["1e-12", "0.5", "0.7", "15"])
def test_float_quantiles_follow_their_definitions(family: NoiseFamily, e: str) -> None:
    got = float(quantiles(family, np.array([float(Decimal(e).ln())]))[0])
    assert got == pytest.approx(float(quantile(family, Decimal(e))), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("gap", [Fraction(0), Fraction(1, 3)])
def test_scores_2_to_the_minus_150_apart_are_told_apart(
    family: NoiseFamily, side: int, gap: Fraction
) -> None:
    """A's uniform is set so that it ties with B's score to 200 bits, then moved by 2**-150."""
    b_digits = 0xC0FFEE << 296
    target = quantile(family, -(Decimal(b_digits) / 2**320).ln() / 3) + 2
    offset = target - Decimal(gap.numerator) / gap.denominator
    e = exponential(family, offset)
    a_digits = int((-e).exp() * 2**320) + side * (1 << 170)
    a = Noisy(family, 0, gap, [(Written(a_digits), Fraction(1))], 0.0, np.inf)
    b = Noisy(family, 1, Fraction(2), [(Written(b_digits), Fraction(3))], 0.0, np.inf)
    assert compare(a, b, ReplayBits(b"")) == side


@pytest.mark.parametrize("word", [bytes(8), b"\xff" * 8])
def test_extreme_words_are_refined_not_guessed(word: bytes) -> None:
    """All-zero and all-one words leave the noise unbounded; more bits are read."""
    fixed = word + (1 << 62).to_bytes(8)
    contest = Contest(
        "laplace", Draws(ReplayBits(fixed + bytes(8 * 6))), lambda _: (Fraction(0), 1)
    )
    contest.enter(np.arange(2), np.zeros(2), np.zeros(2))
    assert contest.ranked()[0] == (0 if word[0] else 1)


def test_what_was_looked_at_exactly_keeps_its_bits() -> None:
    """The group's bound is held against the winner that more bits of two equal words have found."""
    draws = Draws(ReplayBits(bytes([1] * 16) + bytes([2] * 8) + bytes(range(64))))
    contest = Contest("gumbel", draws, lambda _: (Fraction(0), 1))
    contest.enter(np.arange(2), np.zeros(2), np.zeros(2))
    [first, _] = contest._order().tolist()
    seen = contest._noisy(first)
    assert seen.links[0][0].length > 64
    assert contest._noisy(first) is seen
    assert contest._order().tolist()[0] == first


@pytest.mark.parametrize("rare", ["canonical._RARE", "joint_classes._RARE"])
def test_reference_laws_stand_when_groups_are_opened_all_the_time(
    rare: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All subsets but the top k, and all losses but 0, as groups; 1,500 draws from fixed bits."""
    monkeypatch.setattr(f"askew.mechanisms.{rare}", -2.4)
    opened = []
    members = Contest.members

    def counted(contest: Contest, keys: list[int], link: Link) -> list[Noisy]:
        opened.append(1)
        return members(contest, keys, link)

    monkeypatch.setattr(Contest, "members", counted)
    counts, bits = (3, 2, 2, 1, 0), ShakeBits(rare)
    mechanism: PNFJoint | Canonical
    if rare.startswith("joint"):
        mechanism = PNFJoint(k=2, epsilon=1, neighbors=ADD_OR_REMOVE_ONE)
        law = joint("exponential", Fraction(1, 2), 2)(counts)
    else:
        mechanism = Canonical(k=2, epsilon=1, neighbors=ADD_OR_REMOVE_ONE, noise="exponential")
        law = canonical("exponential", Fraction(1), 2, Fraction(1, 2), clipped=False)(counts)
    expected = {str(outcome): float(p) for outcome, p in law.items()}
    assert p_value(lambda: str(mechanism.select(counts, bits=bits)), expected, 1500) > 1e-4
    assert len(opened) > 500

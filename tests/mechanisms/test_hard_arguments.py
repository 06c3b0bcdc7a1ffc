"""Arguments at the edge of what is allowed, and beyond it."""

from __future__ import annotations

import os
import traceback
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, cast

import numpy as np
import pytest
from mechanisms.streams import LIMITED, MECHANISMS, ShakeBits, built

from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.errors import ParameterError
from askew.mechanisms import Canonical, Joint, LaplaceCounts, LimitedDomain, Peeling, PermuteAndFlip
from askew.mechanisms.contest import LazyUniform, Noisy
from askew.mechanisms.covariance import NoisyCovariance, covariance
from askew.mechanisms.joint_classes import SequenceLosses
from askew.mechanisms.noisy_counts import NoisyCounts
from askew.mechanisms.tally import Tally
from askew.mechanisms.value_classes import ValueClasses
from askew.mechanisms.weights import WeightBlock
from askew.noise.gaussian import DiscreteGaussian
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace, TwoSidedGeometric
from askew.noise.randomness import ReplayBits, SystemBits

ONE, TINY = ADD_OR_REMOVE_ONE, Fraction(1, 10**400)
HUGE = 2**61 - 1
ALL_LIMITED = pytest.mark.parametrize("name", LIMITED)


@ALL_LIMITED
def test_an_engines_rows_select_what_the_whole_vector_selects(name: str) -> None:
    """In any order of the rows, ties by id; the same bits, so the same draw."""
    mechanism = built(name)
    counts = [0, 9, 4, 9, 4, 7, 4]
    rows = [5, 3, 4, 1, 2]  # the top five, 6 being the last of the three fours
    for trial in range(20):
        whole = mechanism.select(counts, bits=ShakeBits(str(trial)))
        some = mechanism.select_from_top(
            rows, [counts[i] for i in rows], bits=ShakeBits(str(trial))
        )
        assert (some, some.stopped) == (whole, whole.stopped)


@ALL_LIMITED
def test_limited_domains_take_any_public_number_and_no_rows(name: str) -> None:
    """delta below float64's range, epsilon far above 1, and counts 2**61 apart. An error without
    rows would tell that nobody is there.
    """
    mechanism = built(name)
    for made in (
        mechanism.select([]),
        mechanism.select([0] * 4),
        mechanism.select_from_top([], []),
    ):
        assert (tuple(made), made.stopped, made.outputs) == ((), True, 1)
    extreme = built(name, delta=TINY, epsilon=10**15)
    assert extreme.select([HUGE, 0, 0, 5, HUGE - 1], bits=SystemBits()) == (0, 4)
    assert extreme.privacy_loss().delta == TINY


def test_a_rest_far_behind_the_items_already_selected_is_still_drawn_from() -> None:
    """Float64 cannot tell 2**61 + 40 from 2**61; the scores are taken anew from the best left."""
    mechanism = LimitedDomain(k=4, kbar=4, epsilon=1, delta=Fraction(1, 100), neighbors=ONE)
    assert mechanism.select([HUGE, 90, 0, 40, 0], bits=SystemBits()) == (0, 1, 3)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2**60), 2**60])
def test_extreme_epsilons_neither_overflow_nor_stall(epsilon: Fraction | int) -> None:
    rest = ("Joint", "PNFJoint", "Peeling", "PermuteAndFlip")
    for mechanism in (
        *(built("Canonical", epsilon=epsilon, gamma=gamma) for gamma in (0, 1, TINY)),
        built("Canonical", epsilon=epsilon, noise="laplace"),
        built("ConcentratedPeeling", epsilon=epsilon, delta=TINY),
        *(built(name, epsilon=epsilon) for name in rest),
    ):
        chosen = mechanism.select([HUGE, 3, -HUGE, HUGE - 1], bits=SystemBits())
        assert len(set(chosen)) == 2
        assert epsilon == Fraction(1, 2**60) or sorted(chosen) == [0, 3]


def test_fractions_need_a_stated_sensitivity() -> None:
    scores: list[int | Fraction] = [Fraction(1, 2), 3]
    with pytest.raises(ParameterError, match="unless linf_sensitivity is stated"):
        Peeling(k=1, epsilon=1, neighbors=ONE).select(scores, bits=ReplayBits(b""))


def test_scores_that_no_float_tells_apart_are_refused() -> None:
    """Planted bug: only their number over the common denominator is looked at, and the rate of one
    step is 0.
    """
    for k, gap in product((1, 2), (Fraction(1, 10**400), Fraction(1, 2**256 + 1))):
        mechanism = Peeling(k=k, epsilon=1, neighbors=ONE, linf_sensitivity=1)
        with pytest.raises(ParameterError, match=r"common denominator of at most 2\*\*256"):
            mechanism.select([gap, Fraction(0)], bits=ReplayBits(b""))
    least = Fraction(1, 2**256)
    finest = PermuteAndFlip(k=2, epsilon=least, neighbors=ONE, linf_sensitivity=2**256)
    assert len(finest.select([least, Fraction(0)], bits=SystemBits())) == 2


def test_nothing_that_describes_counts_prints_them() -> None:
    view = Tally([777, 776, 5], 1)
    losses = SequenceLosses(view, 2)
    shown = [
        view,
        ValueClasses(view, Fraction(1)),
        losses,
        losses.steps(0, 3),
        WeightBlock(view.values, view.values.astype(np.float64)),
        Noisy("gumbel", 0, Fraction(777), [(LazyUniform(777), Fraction(1))], 777.0, 0.0),
    ]
    assert not any("777" in repr(each) for each in shown)


NO_COUNTS: dict[str, Any] = {
    "bytes": bytes([97, 98, 99, 101]),
    "dict": {0: 9412, 1: 9413, 2: 9414, 3: 9415},
    "floats": np.array([9412.5] * 4),
    "generator": (each for each in [9412] * 4),
    "large": [2**61 + 9412] * 4,
    "masked": np.ma.array([9412] * 4, mask=[True, False, False, False]),
    "nested": [[9412, 9413]] * 4,
    "none": None,
    "objects": np.array([9412] * 4, dtype=object),
    "text": "9412",
    "times": np.array([9412] * 4, dtype="datetime64[s]"),
    "unsigned": np.array([2**64 - 9412] * 4, dtype=np.uint64),
}


@pytest.mark.parametrize("counts", NO_COUNTS.values(), ids=NO_COUNTS)
def test_what_is_no_counts_is_refused_by_every_mechanism_without_a_count(counts: Any) -> None:
    """Planted bug: bytes, dicts and masks are left to numpy, whose errors print what they hold."""
    doors = [built(name).select for name in MECHANISMS]
    doors += [partial(built(name).select_from_top, [4, 5, 6, 7]) for name in LIMITED]
    doors.append(NoisyCounts(k=9, epsilon=1, neighbors=ONE).perturb)
    for door in doors:
        with pytest.raises(ParameterError) as caught:
            door(counts, bits=ReplayBits(b""))
        shown = "".join(traceback.format_exception(caught.value))  # the cause's text as well
        assert not any(digits in str(caught.value) for digits in ("94", "97", "98", "99"))
        assert "During handling" not in shown
        assert "direct cause" not in shown


@pytest.mark.parametrize("bits", [np.random.default_rng(1), None, 7, os.urandom], ids=str)
def test_another_generator_is_refused_where_the_kernels_is_the_default(bits: Any) -> None:
    """Planted bug: a source of another kind is taken as far as it goes."""
    zeros = np.zeros((2, 2), np.int64)
    for draw in (
        partial(Canonical(k=1, epsilon=1, neighbors=ONE).select, [9, 8]),
        partial(built("LimitedDomain").select_from_top, [1, 2], [9, 8]),
        partial(NoisyCounts(k=2, epsilon=1, neighbors=ONE).perturb, [9, 8]),
        partial(NoisyCovariance(Fraction(1), Fraction(1, 9)).perturb, zeros),
        partial(LatticeLaplace.for_epsilon(Fraction(1)).perturb, [Fraction(1, 2)]),
        partial(HexagonalLattice.for_epsilon(Fraction(1)).perturb, (Fraction(1), Fraction(2))),
        partial(TwoSidedGeometric.with_constant_work(3).draw, 2),
        partial(DiscreteGaussian.of_variance(9).draw, 2),
    ):
        draw()
        with pytest.raises(ParameterError, match="bits must be RandomBits"):
            draw(bits=bits)


def test_what_is_private_and_no_number_is_refused_by_the_noise() -> None:
    lattice, half = LatticeLaplace.for_epsilon(Fraction(1)), Fraction(1, 2)
    with pytest.raises(ParameterError, match="point must be finite numbers"):
        lattice.perturb([True])
    with pytest.raises(ParameterError, match="point must be ints or Fractions"):
        HexagonalLattice.for_epsilon(Fraction(1)).perturb(cast("Any", (True, half)))
    people: Any = [[[0.5]], [["1"]], ["12"], [{0: 1}], [None], [np.array([0.5])]]
    for person in people:
        with pytest.raises(ParameterError, match="likes must be"):
            covariance(person, 3)
    for matrix in ([[1]], None, np.ma.array([[1]], mask=[[True]])):
        with pytest.raises(ParameterError, match="matrix must be"):
            NoisyCovariance(half, half).perturb(cast("Any", matrix))


def test_public_numbers_have_an_upper_bound() -> None:
    shared: dict[str, Any] = {"epsilon": 1, "neighbors": ONE}
    threshold = {**shared, "delta": Fraction(1, 9)}
    with pytest.raises(ParameterError, match="domain must be one of"):
        LimitedDomain(k=2, kbar=4, domain=cast("Any", "bogus"), **threshold)
    for most in (2**32, 10**5000):
        with pytest.raises(ParameterError, match=f"k must be an int of at most {2**32 - 1}"):
            Joint(k=most, **shared)
        with pytest.raises(ParameterError, match="max_items_per_unit must be an int of at most"):
            LaplaceCounts(k=1, max_items_per_unit=most, **shared)
        with pytest.raises(ParameterError, match="kbar must be an int of at most"):
            LimitedDomain(k=1, kbar=most, **threshold)


@pytest.mark.parametrize("epsilon", [10**5000, 2**256 + 1, TINY], ids=("5000", "256", "tiny"))
def test_an_epsilon_that_no_float_holds_is_refused_with_its_limit(epsilon: Fraction | int) -> None:
    """Planted bug: only its sign is looked at, and a choice ends in an OverflowError."""
    for name in MECHANISMS:
        with pytest.raises(ParameterError, match=r"epsilon must be from 2\*\*-256 to 2\*\*256"):
            built(name, epsilon=epsilon)

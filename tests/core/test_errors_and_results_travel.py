"""Errors, results, losses, mechanisms and noise go to another process and back as they are.

A `multiprocessing.Pool` whose worker raises what cannot be unpickled waits for ever, so each class
of errors is raised in one. What is enumerated is what the packages have: a class that is added
without a row fails.
"""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import re
from collections.abc import Iterator
from fractions import Fraction
from inspect import signature
from typing import Any

import pytest

import askew
import askew_client
from askew import errors, mechanisms
from askew.dp import privacy
from askew.dp.analyst import PayWhatYouGet
from askew.dp.composition import PrivacyFilter, basic
from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE
from askew.mechanisms.noisy_counts import NoisyCounts
from askew.mechanisms.shortfall import error_bound
from askew.noise.gaussian import DiscreteGaussian
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace, TwoSidedGeometric
from askew.noise.randomness import ReplayBits, SystemBits
from askew.placement import Identity, Laplace, place

TAPE = SystemBits().read(1 << 18)
COUNTS = [5, 9, 0, 7, 3]


def tree(kind: type[errors.AskewError]) -> Iterator[type[errors.AskewError]]:
    """A class of errors and all below it."""
    yield kind
    for each in kind.__subclasses__():
        yield from tree(each)


ARGUMENTS: dict[str, Any] = {
    "name": "k",
    "value": Fraction(1, 3),
    "limit": "at least 1",
    "text": "Kiel is the name of several towns",
    "choices": ("Kiel", "Kehl"),
    "requested": Fraction(1),
    "spent": Fraction(1, 3),
    "cap": Fraction(2),
    "month": "2026-11",
    "changed": "the server",
    "why": "EAGAIN",
    "got": 3,
    "expected": 4,
    "what": "release",
}
KEYWORDS: dict[str, dict[str, Any]] = {
    "BudgetExceeded": {"measure": "epsilon a month", "next_month": "2026-12-01", "renewed": True},
    "OtherKind": {"places": True},
}


def made(kind: type[errors.AskewError]) -> errors.AskewError:
    """One with an argument for each parameter, and a note."""
    if kind.__init__ is Exception.__init__:
        error = kind("what happened, why, what to do")
    else:
        parameters = signature(kind).parameters.values()
        named = [each for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
        error = kind(*(ARGUMENTS[each.name] for each in named), **KEYWORDS.get(kind.__name__, {}))
    error.add_note("a note")
    return error


KINDS = sorted({*tree(errors.AskewError)}, key=lambda kind: kind.__name__)


def ways(value: Any) -> Iterator[Any]:
    """What comes back by each way."""
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        yield pickle.loads(pickle.dumps(value, protocol))
    yield copy.copy(value)
    yield copy.deepcopy(value)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_error_keeps_its_class_its_text_and_its_attributes(
    kind: type[errors.AskewError],
) -> None:
    """Planted bug: the text in place of the arguments, which doubles it or breaks the worker."""
    error = made(kind)
    for back in ways(error):
        assert type(back) is kind
        assert str(back) == str(error)
        assert vars(back) == vars(error)
        assert back.args == error.args


def test_an_argument_that_cannot_travel_goes_as_it_is_shown() -> None:
    error = errors.ParameterError("counts", (n for n in COUNTS), "a list")
    back = pickle.loads(pickle.dumps(error))
    assert str(back) == str(error)
    assert re.fullmatch(r"<generator object .*>", back.value)


def raising(name: str) -> None:
    """Raises the error of this name, in a worker."""
    [kind] = [each for each in KINDS if each.__name__ == name]
    raise made(kind)


def test_a_pool_hears_each_error_of_its_workers() -> None:
    """Planted bug: as above; the pool waits for ever, so the wait is bounded."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        heard = {kind.__name__: pool.apply_async(raising, (kind.__name__,)) for kind in KINDS}
        for kind in KINDS:
            with pytest.raises(kind, match=re.escape(str(made(kind)))):
                heard[kind.__name__].get(60)


EXTRA: dict[str, dict[str, Any]] = {
    "ConcentratedPeeling": {"delta": Fraction(1, 20)},
    "LaplaceCounts": {"max_items_per_unit": 2},
    "LaplaceLimitedDomain": {"kbar": 4, "max_items_per_unit": 2, "delta": Fraction(1, 20)},
    "LimitedDomain": {"kbar": 4, "delta": Fraction(1, 20)},
    "OptimalThreshold": {"dbar": 4, "delta": Fraction(1, 20)},
}
MECHANISMS = [name for name in mechanisms.__all__ if name != "Selection"]


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_and_its_result_travel_also_after_use(name: str) -> None:
    """Planted bug: coins that were drawn before, which a copy would take along."""
    kind = getattr(mechanisms, name)
    arguments = {"k": 2, "epsilon": Fraction(1), "neighbors": ADD_OR_REMOVE_ONE} | EXTRA.get(
        name, {}
    )
    mechanism = kind(**arguments)
    for _ in range(2):
        for back in ways(mechanism):
            assert back == mechanism
            assert repr(back) == repr(mechanism)
            assert back.privacy_loss() == mechanism.privacy_loss()
            assert drawn(back, TAPE) == drawn(mechanism, TAPE)
            if getattr(mechanism, "shortfall", None):
                assert error_bound(back, len(COUNTS)) == error_bound(mechanism, len(COUNTS))
        result = drawn(mechanism, TAPE)
        for back in ways(result):
            assert type(back) is type(result)
            assert back == result
            assert getattr(back, "stopped", None) == getattr(result, "stopped", None)
        for back in ways(mechanism.privacy_loss()):
            assert back == mechanism.privacy_loss()
        shortfall = getattr(mechanism, "shortfall", None)
        assert type(pickle.loads(pickle.dumps(shortfall))) is type(shortfall)


def drawn(mechanism: Any, tape: bytes) -> Any:
    """A result of these bits."""
    return mechanism.select(COUNTS, bits=ReplayBits(tape))


def test_noisy_counts_travel() -> None:
    noise = NoisyCounts(k=5, epsilon=Fraction(1), neighbors=REPLACE_ONE, delta=Fraction(1, 10**6))
    wanted = noise.perturb(COUNTS, bits=ReplayBits(TAPE))
    for back in ways(noise):
        assert back == noise
        assert back.perturb(COUNTS, bits=ReplayBits(TAPE)) == wanted


NOISE = {
    "two-sided geometric": TwoSidedGeometric.with_constant_work(Fraction(7, 2)),
    "discrete Gaussian": DiscreteGaussian.of_variance(1000),
    "lattice": LatticeLaplace.for_epsilon(Fraction(1)),
    "hexagonal lattice": HexagonalLattice.for_epsilon(Fraction(1)),
}


@pytest.mark.parametrize("name", NOISE)
def test_noise_travels_also_after_its_first_draw(name: str) -> None:
    """And draws the same of the same bits. Planted bug: coins in a form that cannot be pickled."""
    noise = NOISE[name]

    def noised(noise: Any) -> Any:
        bits = ReplayBits(TAPE)
        if isinstance(noise, TwoSidedGeometric | DiscreteGaussian):
            return [*noise.draw(5, bits)]
        return [noise.perturb((Fraction(1, 4), Fraction(1, 2)), bits) for _ in range(5)]

    wanted = noised(noise)
    for back in ways(noise):
        assert back == noise
        assert noised(back) == wanted


OTHERS: dict[str, Any] = {
    "position": askew_client.Position(52.52, 13.405),
    "preferences": askew_client.preferences_of("kind = tea, price <= 10"),
    "settings": askew_client.ClientSettings(region="DE"),
    "approximate": privacy.ApproximateDP(Fraction(1), Fraction(1, 10**6), ADD_OR_REMOVE_ONE),
    "composed": basic([privacy.PureDP(Fraction(1), ADD_OR_REMOVE_ONE)] * 2),
    "filter": PrivacyFilter(epsilon=Fraction(2), delta=Fraction(1, 10**6)),
    "terms of an analyst": PayWhatYouGet(
        k_star=9, l_star=5, epsilon=Fraction(1, 2), delta=Fraction(1, 10**9), slack=Fraction(1, 100)
    ),
    "top k": askew.top_k({"a": 9, "b": 2}, items=["a", "b"], k=1, epsilon=1, with_counts=True),
    "placement": place(Laplace(1.0), Identity(), k=3),
    "relation": ADD_OR_REMOVE_ONE,
}


@pytest.mark.parametrize("name", OTHERS)
def test_losses_filters_and_results_travel(name: str) -> None:
    for back in ways(OTHERS[name]):
        assert type(back) is type(OTHERS[name])
        assert repr(back) == repr(OTHERS[name])
        if name != "placement":  # whose arrays compare by element
            assert back == OTHERS[name]

"""Every mechanism against distributions that an independent brute force computed.

Where a draw is made of discrete exact choices, its law is enumerated and compared to 14 digits.
Where it compares real-valued noise, 1,000 draws from fixed bits are compared by chi-square: fixed
bits never fail by chance, and a rate wrong by a factor of 2 has p below 1e-7 (a test).
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import exp, log
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from guarantees.audit.enumeration import law_of
from mechanisms.streams import ShakeBits, p_value

from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE, NeighboringRelation
from askew.mechanisms import (
    Canonical,
    Joint,
    LaplaceCounts,
    LimitedDomain,
    OneShot,
    Peeling,
    PermuteAndFlip,
    PNFJoint,
    Selection,
    limited_domain,
    value_classes,
)
from askew.mechanisms.limited_domain import Domain, top_of_rows
from askew.mechanisms.tally import Tally
from askew.mechanisms.weights import Draws


class Setting(NamedTuple):
    """What a reference distribution is of."""

    mechanism: str
    counts: tuple[int, ...]
    k: int
    epsilon: Fraction
    kbar: int
    delta: Fraction
    max_items: int | None


def _settings() -> dict[Setting, dict[str, float]]:
    found: dict[Setting, dict[str, float]] = defaultdict(dict)
    with (Path(__file__).parent / "reference.csv").open() as file:
        for row in csv.DictReader(file):
            setting = Setting(
                row["mechanism"],
                tuple(map(int, row["counts"].split())),
                int(row["k"]),
                Fraction(row["epsilon"]).limit_denominator(100),
                int(row["kbar"] or 0),
                Fraction(row["delta"] or 1),
                int(row["max_items"]) if row["max_items"] else None,
            )
            found[setting][row["outcome"]] = float(row["probability"])
    return dict(found)


REFERENCE = _settings()
DRAWS = 1000
ONE, SWAP = ADD_OR_REMOVE_ONE, REPLACE_ONE
Build = Callable[[int, Fraction], Any]
ENUMERATED: dict[str, Build] = {
    "em_peel": lambda k, e: Peeling(k=k, epsilon=e, neighbors=ONE),
    "em_peel_swap": lambda k, e: Peeling(k=k, epsilon=e, neighbors=SWAP),
    "em_peel_set": lambda k, e: OneShot(k=k, epsilon=e, neighbors=ONE, noise="gumbel"),
    "joint": lambda k, e: Joint(k=k, epsilon=e, neighbors=ONE),
    "joint_swap": lambda k, e: Joint(k=k, epsilon=e, neighbors=SWAP),
    "canonical_g0.5": lambda k, e: Canonical(k=k, epsilon=e, neighbors=ONE, clipped=True),
    "canonical_g1.0": lambda k, e: Canonical(k=k, epsilon=e, neighbors=ONE, gamma=1),
    "canonical_g0.75": lambda k, e: Canonical(
        k=k, epsilon=e, neighbors=ONE, gamma=Fraction(3, 4), clipped=True
    ),
    "canonical_g0.5_swap": lambda k, e: Canonical(k=k, epsilon=e, neighbors=SWAP, clipped=True),
    "canonical_g0.5_unclipped": lambda k, e: Canonical(k=k, epsilon=e, neighbors=ONE),
}
SAMPLED: dict[str, Build] = {
    "pnf_peel": lambda k, e: PermuteAndFlip(k=k, epsilon=e, neighbors=ONE),
    "oneshot_exp_set": lambda k, e: OneShot(k=k, epsilon=e, neighbors=ONE),
    "oneshot_laplace_set": lambda k, e: OneShot(k=k, epsilon=e, neighbors=ONE, noise="laplace"),
    "pnf_joint": lambda k, e: PNFJoint(k=k, epsilon=e, neighbors=ONE),
    "canonical_g0.5_exp": lambda k, e: Canonical(
        k=k, epsilon=e, neighbors=ONE, clipped=True, noise="exponential"
    ),
    "canonical_g1.0_exp": lambda k, e: Canonical(
        k=k, epsilon=e, neighbors=ONE, gamma=1, noise="exponential"
    ),
}
DOMAINS: dict[str, Domain] = {
    "limitdom": "top",
    "limitdom_strict": "strict",
    "limitdom_positive": "positive",
}


def settings(names: object) -> list[Setting]:
    assert isinstance(names, dict)
    return [setting for setting in REFERENCE if setting.mechanism in names]


def label(outcome: tuple[int, ...]) -> str:
    stopped = isinstance(outcome, Selection) and outcome.stopped
    return " ".join([*map(str, outcome), *(["bot"] if stopped else [])])


def name_of(setting: Setting) -> str:
    return f"{setting.mechanism} {setting.counts}"


@pytest.mark.thin
@pytest.mark.parametrize("setting", settings(ENUMERATED), ids=name_of)
def test_the_enumerated_law_is_the_reference(setting: Setting) -> None:
    mechanism = ENUMERATED[setting.mechanism](setting.k, setting.epsilon)
    law = law_of(partial(mechanism.draw, Tally(setting.counts, setting.k)))
    got = {label(outcome): float(p) for outcome, p in law.items()}
    expected = REFERENCE[setting]
    assert {o: got[o] for o in expected} == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("setting", settings(DOMAINS), ids=name_of)
def test_the_law_of_a_limited_domain_is_the_reference(setting: Setting) -> None:
    mechanism = limited(setting)
    order = sorted(range(len(setting.counts)), key=lambda i: (-setting.counts[i], i))
    items, values, cutoff = top_of_rows(order, [setting.counts[i] for i in order], setting.kbar)

    def run(draws: Draws) -> tuple[int, ...]:
        made = mechanism.draw(items, values, cutoff, draws)
        return (*made, -1) if made.stopped else tuple(made)

    law = law_of(run)
    got = {" ".join(map(str, o)).replace("-1", "bot"): float(p) for o, p in law.items()}
    expected = REFERENCE[setting]
    assert {o: got[o] for o in expected} == pytest.approx(expected, rel=1e-13)


def limited(setting: Setting) -> LimitedDomain:
    return LimitedDomain(
        k=setting.k,
        kbar=setting.kbar,
        epsilon=setting.epsilon,
        delta=setting.delta,
        neighbors=ONE,
        max_items_per_unit=setting.max_items,
        domain=DOMAINS[setting.mechanism],
    )


def p_of(mechanism: Any, setting: Setting) -> float:
    counts, bits = list(setting.counts), ShakeBits(name_of(setting))
    return p_value(lambda: label(mechanism.select(counts, bits=bits)), REFERENCE[setting], DRAWS)


@pytest.mark.thin
@pytest.mark.parametrize("setting", settings(SAMPLED), ids=name_of)
def test_sampled_frequencies_fit_the_reference(setting: Setting) -> None:
    assert p_of(SAMPLED[setting.mechanism](setting.k, setting.epsilon), setting) > 1e-4


IN_ONE_PASS = [s for s in settings(ENUMERATED) if s.mechanism.startswith("em_peel")]


@pytest.mark.thin
@pytest.mark.parametrize("setting", IN_ONE_PASS, ids=name_of)
def test_one_pass_of_gumbel_noise_has_the_law_of_k_choices(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: the rate of k choices given to each of them; the noise of another family."""
    monkeypatch.setattr(value_classes, "ONE_PASS", 1)
    assert p_of(ENUMERATED[setting.mechanism](setting.k, setting.epsilon), setting) > 1e-4


@pytest.mark.thin
@pytest.mark.parametrize("setting", settings(DOMAINS), ids=name_of)
def test_one_pass_of_a_limited_domain_has_the_law_of_k_choices(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stop among them, a class of kbar / delta outcomes. Planted bug: it is one outcome."""
    monkeypatch.setattr(limited_domain, "ONE_PASS", 1)
    assert p_of(limited(setting), setting) > 1e-4


SETS = [setting for setting in settings(SAMPLED) if setting.mechanism.endswith("_set")]


@pytest.mark.thin
@pytest.mark.parametrize("setting", SETS, ids=name_of)
def test_a_set_does_not_depend_on_which_items_are_drawn_as_one(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All items below the k-th count as one. Planted bugs: a bound held against the first winner
    and not the last; members of a group that is opened whose noise is that of the whole group.
    """
    rare = 1e-9 - 1 - 2 * log(len(setting.counts))  # so that nothing below the k-th count is apart
    monkeypatch.setattr(value_classes, "_RARE", rare)
    assert p_of(SAMPLED[setting.mechanism](setting.k, setting.epsilon), setting) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLED)
def test_the_test_of_frequencies_rejects_a_wrong_rate(name: str) -> None:
    setting = next(s for s in settings(SAMPLED) if s.mechanism == name and s.counts[0] == 10)
    assert p_of(SAMPLED[name](setting.k, setting.epsilon * 2), setting) < 1e-7


EPSILON, GAP = Fraction(4), 3


# times: how often max_items_per_unit counts.
@pytest.mark.parametrize(("neighbors", "times"), [(ONE, 1), (SWAP, 2)])
def test_the_noise_has_the_scale_of_the_whole_change(
    neighbors: NeighboringRelation, times: int
) -> None:
    """P(the item that is GAP behind wins) = exp(-x) (1/2 + x/4), x = GAP / scale: the tail of the
    difference of two Laplace variables. Planted bug: the sensitivity not doubled.
    """
    noisy = LaplaceCounts(k=1, epsilon=EPSILON, neighbors=neighbors, max_items_per_unit=6)
    bits = ShakeBits(neighbors.name)

    def p(scale: Fraction) -> float:
        x = float(GAP / scale)
        behind = exp(-x) * (0.5 + x / 4)
        law = {"(0,)": 1 - behind, "(1,)": behind}
        return p_value(lambda: str(noisy.select([GAP, 0], bits=bits)), law, DRAWS)

    assert p(times * 6 / EPSILON) > 1e-4
    assert p((3 - times) * 6 / EPSILON) < 1e-18  # the scale of the other relation is rejected

"""Every distribution of an independent brute force's file, to 13 digits, by exact laws.

ASKEW_TOPK_REFERENCE names the file, a JSON object: "instances", each with "counts", "k", "eps" and
"mechanisms", each of these with "dist" (ids joined by commas to a probability; `bot` is the stop)
and, for limited domains, "params". Part of it is in reference.csv, which is checked in any case.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from guarantees.audit import limited
from guarantees.audit.audited import MECHANISMS, Selects, exact_law
from guarantees.audit.definitions import one_shot
from guarantees.audit.enumeration import Counts, Law

from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE
from askew.mechanisms import Canonical, Joint, LimitedDomain, Peeling, PermuteAndFlip, PNFJoint

PATH = os.environ.get("ASKEW_TOPK_REFERENCE")
HALF = Fraction(1, 2)
BUILD: dict[str, Callable[..., Selects]] = {
    "em_peel": Peeling,
    "em_peel_set": MECHANISMS["one-shot"].build,
    "pnf_peel": PermuteAndFlip,
    "joint": Joint,
    "fastjoint_tau3": partial(Joint, truncation=3),
    "pnf_joint": PNFJoint,
    "canonical_g0.5": partial(Canonical, clipped=True),
    "canonical_g0.75": partial(Canonical, gamma=Fraction(3, 4), clipped=True),
    "canonical_g1.0": partial(Canonical, gamma=1),
    "canonical_g0.5_exp": partial(Canonical, noise="exponential", clipped=True),
    "canonical_g1.0_exp": partial(Canonical, noise="exponential", gamma=1),
    "canonical_g0.5_unclipped": Canonical,
}
DOMAINS = {"limitdom": "top", "limitdom_strict": "strict", "limitdom_positive": "positive"}


def law_of(name: str, counts: Counts, k: int, epsilon: Fraction, params: dict[str, Any]) -> Law:
    if name in DOMAINS:
        mechanism = LimitedDomain(
            k=k,
            kbar=params["kbar"],
            epsilon=Fraction(params["eps_round"]).limit_denominator(1000),
            delta=Fraction(params["delta"]).limit_denominator(10**6),
            neighbors=ADD_OR_REMOVE_ONE,
            max_items_per_unit=params["Delta"],
            domain=DOMAINS[name],  # type: ignore[arg-type]
        )
        return limited.exact_law(mechanism)(counts)
    if name.startswith("oneshot_"):
        noise = "exponential" if "exp" in name else "laplace"
        return one_shot(noise, epsilon / k, k)(counts)
    plain = name.removesuffix("_swap")
    neighbors = ADD_OR_REMOVE_ONE if name == plain else REPLACE_ONE
    if plain == "pnf_peel_set":
        found: Law = defaultdict(Fraction)
        for outcome, p in law_of("pnf_peel", counts, k, epsilon, params).items():
            found[tuple(sorted(outcome))] += p
        return found
    return exact_law(BUILD[plain](k=k, epsilon=epsilon, neighbors=neighbors))(counts)


@pytest.mark.skipif(PATH is None, reason="ASKEW_TOPK_REFERENCE names no file of distributions")
def test_every_distribution_of_the_file_is_ours() -> None:
    compared = 0
    for instance in json.loads(Path(PATH or "").read_text())["instances"]:
        epsilon = Fraction(instance["eps"]).limit_denominator(1000)
        for name, entry in instance["mechanisms"].items():
            counts, k = tuple(instance["counts"]), instance["k"]
            law = law_of(name, counts, k, epsilon, entry["params"])
            got = {",".join(map(str, o)).replace("-1", "bot"): float(p) for o, p in law.items()}
            assert got == pytest.approx(entry["dist"], rel=1e-12, abs=1e-15), (name, counts)
            compared += 1
    assert compared > 0

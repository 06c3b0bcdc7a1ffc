"""The claims of docs/claims.toml, and the deployments that they amount to, as tables."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

from askew_client.settings.settings import LEVELS, ClientSettings

ROOT = Path(__file__).parents[1]


class Claim(NamedTuple):
    """says holds for neighbors of one unit, if `trusted` keep faith; tests back it.

    proofs: the pages of docs/proofs that it rests on.
    """

    id: str
    says: str
    unit: str
    neighbors: str
    trusted: str
    not_claimed: str
    tests: tuple[str, ...]
    proofs: tuple[str, ...] = ()


def claims() -> list[Claim]:
    found = tomllib.loads((ROOT / "docs/claims.toml").read_text("utf-8"))["claim"]
    return [
        Claim(**{**each, "tests": tuple(each["tests"]), "proofs": tuple(each.get("proofs", ()))})
        for each in found
    ]


def claims_as_rows() -> list[list[str]]:
    head = ["", "Claim", "Unit; neighbors", "Trusted", "Not claimed", "Backed by"]
    rows = [
        [
            each.id,
            each.says,
            f"{each.unit}; {each.neighbors}",
            each.trusted,
            each.not_claimed,
            ", ".join(
                [f"[proof](proofs/{page}.md)" for page in each.proofs]
                + [f"`{test}`" for test in each.tests]
            ),
        ]
        for each in claims()
    ]
    return [head, *[[cell.replace("|", "\\|") for cell in row] for row in rows]]


def deployments() -> dict[str, dict[str, str]]:
    """Return each model of trust, by what NIST SP 800-226 asks and the deployments registry
    records.

    Numbers are those of the code's defaults.
    """
    device = ClientSettings()
    rate = float(device.epsilon_per_rating)
    levels = ", ".join(f"{float(e):.3g} ({name})" for name, e in LEVELS.items())
    return {
        "local": {
            "Model of trust": "local: the device adds the noise",
            "Privacy unit": "one profile",
            "Neighbors": "one rating added, removed or changed; any two, at their distance",
            "Definition": "geographic privacy",
            "ε of one signal": f"{rate:g} a rating; {2 * rate:g} a replaced title; "
            f"{rate * device.max_ratings_apart:g} any two people, at most",
            "δ": "0",
            "ε of a month; of a life": f"{float(device.rating_monthly_cap):g}; "
            f"{float(device.rating_lifetime_cap):g} a rating; on axes "
            f"{float(device.axis_monthly_cap):g}; {float(device.axis_lifetime_cap):g} a value",
            "Mechanism": "two-sided geometric noise",
            "Composition": "exact sums",
            "Randomness": "the kernel's, unbuffered",
            "Outputs": "one signal a space and month, to the server that is asked",
            "Not covered": "addresses, times, what a pick leads to",
        },
        "place": {
            "Model of trust": "local: the device adds the noise",
            "Privacy unit": "one position",
            "Neighbors": "any two positions, at their straight-line distance",
            "Definition": "geographic privacy",
            "ε of one signal": f"per km: {levels}; default {device.level}",
            "δ": "0",
            "ε of a month; of a life": f"{float(device.place_monthly_cap):g}; "
            f"{float(device.place_lifetime_cap):g} per km",
            "Mechanism": "hexagonal geometric noise",
            "Composition": "exact sums",
            "Randomness": "the kernel's, unbuffered",
            "Outputs": "one noisy position a named place, for life",
            "Not covered": "addresses, times, links by one repeated position",
        },
        "central": {
            "Model of trust": "central: the operator counts, readers are not trusted",
            "Privacy unit": "one person's whole history",
            "Neighbors": "add or remove one; replace one; fixed when a data set is opened",
            "Definition": "(ε, δ)-DP, by zCDP where rounds compose better",
            "ε of one signal": "each release's own, printed with it",
            "δ": "each release's own; 0 for pure selections of a public catalog, without slack",
            "ε of a month; of a life": "the operator's cap of a data set; no default",
            "Mechanism": "exact top-k selection; discrete Gaussian noise on a matrix",
            "Composition": "exact sums, or bounded-range rounds by zCDP",
            "Randomness": "the kernel's, unbuffered",
            "Outputs": "lists, analysts' answers, private models",
            "Not covered": "time, groups, other data sets of the same people",
        },
    }


def deployments_as_rows() -> list[list[str]]:
    found = deployments()
    head = ["", *(name.capitalize() for name in found)]
    asked = next(iter(found.values()))
    return [head, *([each, *(record[each] for record in found.values())] for each in asked)]

"""A ledger with one data set and one analyst, and requests for it."""

from __future__ import annotations

import hashlib
import os
import sys
from fractions import Fraction
from pathlib import Path

from askew.dp.analyst import PayWhatYouGet
from askew.dp.composition import PrivacyFilter
from askew.dp.privacy import ADD_OR_REMOVE_ONE, ApproximateDP, BoundedRange, PureDP
from askew_server.ledger import AnalystBudget, Charge, ChargeRequest, Ledger, StoredRelease

CAP = PrivacyFilter(epsilon=Fraction(10), delta=Fraction(1, 10**6), slack=Fraction(1, 10**9))
TERMS = PayWhatYouGet(
    k_star=20,
    l_star=6,
    epsilon=Fraction(1, 10),
    delta=Fraction(1, 10**10),
    slack=Fraction(1, 10**9),
)
# What a process of its own needs to import what the tests import.
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
UNIT = "one person's whole history"


def files(folder: Path) -> tuple[Path, Path]:
    return folder / "ledger.sqlite", folder / "mark"


def open_ledger(folder: Path) -> Ledger:
    return Ledger(*files(folder), patience=60)


def new_ledger(folder: Path, cap: PrivacyFilter = CAP) -> Ledger:
    """With the data set "plays", version "1"."""
    ledger = open_ledger(folder)
    ledger.open_dataset("plays", "1", cap, UNIT, ADD_OR_REMOVE_ONE)
    return ledger


def pure(epsilon: Fraction | int = 1) -> PureDP:
    return PureDP(Fraction(epsilon), ADD_OR_REMOVE_ONE)


def request(
    key: str = "monday",
    loss: PureDP | ApproximateDP | BoundedRange | None = None,
    *,
    what: str = "top 20",
    version: str = "1",
    principal: str | None = None,
) -> ChargeRequest:
    return ChargeRequest(
        dataset="plays",
        version=version,
        key=key,
        digest=hashlib.sha256(what.encode()).digest(),
        loss=pure() if loss is None else loss,
        principal=principal,
    )


def answer(key: str, k: int, principal: str = "ann") -> ChargeRequest:
    return request(key, TERMS.answer(k), principal=principal)


def charged(ledger: Ledger, wanted: ChargeRequest) -> Charge:
    made = ledger.charge(wanted)
    assert isinstance(made, Charge)
    return made


def epsilon_spent(ledger: Ledger) -> Fraction:
    return ledger.dataset("plays").spent.epsilon


def releases_of(ledger: Ledger, principal: str | None = None) -> tuple[StoredRelease, ...]:
    """The public releases of a ledger, or the stored answers to an analyst, oldest first."""
    stored = (each for each in ledger.charges() if isinstance(each, StoredRelease))
    return tuple(each for each in stored if each.request.principal == principal)


def budget_of(ledger: Ledger, principal: str, dataset: str = "plays") -> AnalystBudget:
    """The newest budget of an analyst."""
    return [each for each in ledger.budgets(dataset) if each.principal == principal][-1]

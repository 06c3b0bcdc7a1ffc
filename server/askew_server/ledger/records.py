"""What goes into the ledger and what comes out, and how its exact numbers are stored.

Public values only, safe to print.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache

from askew.dp.analyst import AnalystUsage, PayWhatYouGet
from askew.dp.composition import Loss, PrivacyFilter, RunningLoss
from askew.dp.privacy import ApproximateDP, NeighboringRelation
from askew.errors import LedgerError, ParameterError


@dataclass(frozen=True, kw_only=True)
class ChargeRequest:
    """One spend, named before the data are touched.

    key: any non-empty text; one request for ever, within (dataset, principal). digest: 32 bytes,
    SHA-256 of everything that determines the answer (query, mechanism, parameters).

    place: 32 bytes, SHA-256 of where the events are, which tells that two data sets have the same
    events. day: of the request, such as 2026-11-29: the ledger has no clock. Requests that differ
    in place or day alone are equal.

    A BoundedRange loss is composed with others by zCDP, any other is added. With a principal, the
    loss must be a BoundedRange with the epsilon and delta of that analyst's `PayWhatYouGet`; its
    rounds, k_i, are reserved and later settled to what was released.
    """

    dataset: str
    version: str
    key: str
    digest: bytes
    loss: Loss
    principal: str | None = None
    place: bytes | None = field(default=None, compare=False, repr=False)
    day: str | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("dataset", "version", "key", "principal"):
            if (value := getattr(self, name)) is not None:
                check_name(name, value)


@dataclass(frozen=True)
class Charge:
    """One durable spend. `id` is what `Ledger.fulfill` takes and what a release is known by."""

    id: int
    request: ChargeRequest


@dataclass(frozen=True)
class StoredRelease:
    """Published bytes and the charge that paid for them. `id` is the charge's.

    outputs: how many symbols were released, the stop among them; None without a principal.
    is_repeat: it was found, and nothing was spent by this call.
    """

    id: int
    request: ChargeRequest
    payload: bytes
    outputs: int | None
    is_repeat: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Dataset:
    """One data set at a version, and the running loss of all its versions together."""

    name: str
    version: str
    cap: PrivacyFilter
    unit: str
    running: RunningLoss = field(default_factory=RunningLoss, repr=False)

    @property
    def neighbors(self) -> NeighboringRelation:
        """Return the neighboring relation of the cap."""
        return self.cap.neighbors

    @cached_property
    def spent(self) -> ApproximateDP:
        """Return what all versions spent together, as one loss of epsilon and delta."""
        return self.cap.loss(self.running)


@dataclass(frozen=True)
class AnalystBudget:
    """What one principal may still ask of one data set: `terms` less what was spent.

    answered: what was spent, reservations in full. closed: the operator revoked it, or accepted a
    ledger that may have lost answers; its loss stays charged to the data set.
    """

    dataset: str
    principal: str
    terms: PayWhatYouGet
    answered: AnalystUsage
    closed: bool


def check_name(name: str, value: object) -> None:
    """Raise ParameterError, which names the field `name`, unless value is a text of 1 to 200
    printable characters.
    """
    if not isinstance(value, str) or not 0 < len(value) <= 200 or not value.isprintable():
        raise ParameterError(name, value, "1 to 200 printable characters")


SUMS = ("epsilon", "delta", "range_epsilon", "range_delta", "rho")
"""The sums of a `RunningLoss` that are stored."""
_STORED = re.compile("([0-9a-f]+)/([1-9a-f][0-9a-f]*)")  # nothing that is stored is negative


def text_of(value: Fraction | int) -> str:
    """Return a rational as "numerator/denominator" in hexadecimal digits: 1/10 is "1/a", 3 is
    "3/1".
    """
    return f"{value.numerator:x}/{value.denominator:x}"


@lru_cache(maxsize=1024)  # most of what is read was read before: a total is one sum further
def rational_of(text: str) -> Fraction:
    """Return the rational of a text "numerator/denominator" of hexadecimal digits in small letters,
    as `text_of` writes them: 1/10 for "1/a", also for "01/a" and "2/14". Raises LedgerError for any
    other form: a sign, capitals, a denominator that begins with 0.
    """
    parts = _STORED.fullmatch(text)
    if parts is None:
        raise LedgerError("a stored number is damaged")
    return Fraction(int(parts[1], 16), int(parts[2], 16))


def sums_of(spent: RunningLoss) -> tuple[Fraction, ...]:
    """Return the five sums of a `RunningLoss`, as the columns of `totals` have them: epsilon,
    delta, range_epsilon, range_delta, rho.
    """
    return tuple(getattr(spent, name) for name in SUMS)


def loss_of(sums: Iterable[Fraction]) -> RunningLoss:
    """Return the `RunningLoss` of sums that `sums_of` returned."""
    return RunningLoss(**dict(zip(SUMS, sums, strict=True)))

"""A release: the published output of a mechanism, what it cost, and whom that protects.

The operator stores a release once, as canonical JSON, and every reader gets those bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from askew.dp.privacy import ApproximateDP, NeighboringRelation, rational
from askew.errors import Malformed, OutOfRange
from askew.limits import MAX_TEXT, check_text, is_visible

SCHEMA = 1
MAX_ITEMS = 10_000
MAX_BYTES = 1 << 26  # above MAX_ITEMS of the longest names, so whatever is stored can be read
MAX_CHARGE = (1 << 63) - 1
PRIVACY_UNIT = "one person's whole history"


@dataclass(frozen=True)
class Release:
    """Items that a mechanism selected, and the guarantee that came with them.

    charge names the spend in the operator's ledger; dataset, the data. ranked is set when items
    stand best first; otherwise they are a set, and their order says nothing. stopped is set when a
    limited domain's threshold ended the list before k. parameters: the mechanism's, public, as
    text. loss is what this release alone loses in all, the rounds of its mechanism composed by the
    rule that the mechanism names; a ledger that composes by zCDP may have charged its rounds, which
    together with others cost less. max_items_per_unit is the contribution bound, or None where
    every item counts. counts: noisy ones of the items, in their order, or None; each is within
    each_within of the true one, and all of them within all_within, with a chance of at least 95 %.

    Privacy unit: one person's whole history, under loss.neighbors.
    Raises OutOfRange for text that is empty, long or not printable, and for too many items.
    """

    charge: int
    dataset: str
    mechanism: str
    k: int
    items: tuple[str, ...]
    ranked: bool
    stopped: bool
    loss: ApproximateDP
    max_items_per_unit: int | None
    parameters: Mapping[str, str] = field(default_factory=dict)
    counts: tuple[int, ...] | None = None
    each_within: int | None = None
    all_within: int | None = None

    def __post_init__(self) -> None:
        check_charge(self.charge)
        if not 1 <= self.k <= MAX_ITEMS:
            raise OutOfRange("k", f"from 1 to {MAX_ITEMS}")
        if len(self.items) > self.k:
            raise OutOfRange("the number of items of a release", "at most k")
        if self.max_items_per_unit is not None and self.max_items_per_unit < 1:
            raise OutOfRange("max_items_per_unit", "at least 1")
        if self.loss.epsilon <= 0 or not 0 <= self.loss.delta < 1:
            raise OutOfRange("the loss of a release", "epsilon above 0, delta from 0 to below 1")
        bounds = (self.each_within, self.all_within)
        if self.counts is None and bounds != (None, None):
            raise OutOfRange("the errors of counts", "None where there are no counts")
        if self.counts is not None:
            numbers = (*self.counts, *(-1 if bound is None else bound for bound in bounds))
            if len(self.counts) != len(self.items) or min(numbers[-2:]) < 0:
                raise OutOfRange("the counts of a release", "one an item, with their errors")
            if max(map(abs, numbers)) > MAX_CHARGE:
                raise OutOfRange("a count of a release", f"from {-MAX_CHARGE} to {MAX_CHARGE}")
        written = (*self.items, *self.parameters, *self.parameters.values())
        for text in (self.dataset, self.mechanism, *written):
            check_text("a name or item of a release", text)

    @property
    def summary(self) -> ReleaseSummary:
        """Return the ReleaseSummary: charge, data set, mechanism, number of items, epsilon and
        delta.
        """
        names = (self.charge, self.dataset, self.mechanism)
        return ReleaseSummary(*names, len(self.items), self.loss.epsilon, self.loss.delta)

    def to_bytes(self) -> bytes:
        """Return canonical JSON: sorted names, no spaces, UTF-8, epsilon and delta as text such as
        "1/2". Equal releases, equal bytes.
        """
        content = {
            "schema": SCHEMA,
            "charge": self.charge,
            "dataset": self.dataset,
            "mechanism": self.mechanism,
            "k": self.k,
            "items": list(self.items),
            "ranked": self.ranked,
            "stopped": self.stopped,
            "epsilon": str(self.loss.epsilon),
            "delta": str(self.loss.delta),
            "neighbors": self.loss.neighbors.value,
            "privacy_unit": PRIVACY_UNIT,
            "max_items_per_unit": self.max_items_per_unit,
            "parameters": dict(self.parameters),
            "counts": None if self.counts is None else list(self.counts),
            "each_within": self.each_within,
            "all_within": self.all_within,
        }
        return json.dumps(
            content, sort_keys=True, separators=(",", ":"), ensure_ascii=False
        ).encode()


@dataclass(frozen=True)
class ReleaseSummary:
    """A row of a list of releases. Raises OutOfRange for text that is empty, long or hostile."""

    charge: int
    dataset: str
    mechanism: str
    n_items: int
    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        if self.n_items > MAX_ITEMS:
            raise OutOfRange("the number of items of a release", f"at most {MAX_ITEMS}")
        check_charge(self.charge)
        for text in (self.dataset, self.mechanism):
            check_text("a name of a release", text)


def release_from_bytes(data: bytes) -> Release:
    """Return the release that `to_bytes` wrote. Raises Malformed or OutOfRange for other bytes."""
    if len(data) > MAX_BYTES:
        raise OutOfRange("the size of a release", f"at most {MAX_BYTES} bytes")
    try:
        content = json.loads(data.decode())
        release = _release(content)
        same = release.to_bytes() == data
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Malformed("not a release") from None
    if not same:  # also where a field is unknown, repeated or of another type
        raise Malformed("a release that is not in its canonical form")
    return release


def check_charge(charge: int) -> None:
    """Raise OutOfRange unless the number is from 1 to 2**63 - 1."""
    if not 1 <= charge <= MAX_CHARGE:
        raise OutOfRange("a charge", f"from 1 to {MAX_CHARGE}")


def plain_name(text: str) -> str:
    r"""Return an item's name as any reader accepts it: of its first 500 characters, those that do
    not print escaped by their code, a line break as \u{a}, and cut to 500 again; "(no name)" where
    nothing shows.
    """
    written = "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text[:MAX_TEXT])
    written = written[:MAX_TEXT]
    return written if is_visible(written) else "(no name)"


def _release(content: dict[str, Any]) -> Release:
    numbers = [content["charge"], content["k"], content["max_items_per_unit"] or 1]
    counts, bounds = content["counts"], [content["each_within"], content["all_within"]]
    if any(type(number) is not int for number in (counts or []) + (bounds if counts else [])):
        raise TypeError
    flags = [content["ranked"], content["stopped"]]
    if [*map(type, numbers + flags)] != [int, int, int, bool, bool]:
        raise TypeError  # true would pass for 1, and write itself differently
    relation = NeighboringRelation(content["neighbors"])
    loss = ApproximateDP(rational(content["epsilon"]), rational(content["delta"]), relation)
    same = [*("charge", "dataset", "mechanism", "ranked", "stopped", "max_items_per_unit")]
    same += ["each_within", "all_within"]
    return Release(
        k=content["k"],
        items=tuple(content["items"]),
        loss=loss,
        parameters=content["parameters"],
        counts=None if counts is None else tuple(counts),
        **{name: content[name] for name in same},
    )

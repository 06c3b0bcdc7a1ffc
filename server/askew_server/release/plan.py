"""What a release will do and spend, in public parameters: complete before any data are read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from askew.dp.composition import delta_of
from askew.dp.privacy import ApproximateDP, BoundedRange, PureDP
from askew.dp.release import Release, plain_name
from askew.errors import ParameterError
from askew.mechanisms.kinds import Kind, Selector
from askew.mechanisms.noisy_counts import NoisyCounts
from askew.noise.randomness import RandomBits
from askew_server.counting import CountingTask, EventSource, TopCounts
from askew_server.counting.identity import digest_of, named_in_full, place_of
from askew_server.ledger import ChargeRequest
from askew_server.release.selectors import (
    MechanismRequest,
    kind_of,
    parts_of,
)


@dataclass(frozen=True, kw_only=True)
class ReleasePlan:
    """One release: the data set, the mechanism and its loss. Everything in it is public.

    asked: epsilon and delta are totals for the whole list. expected: what was known of the counts
    beforehand, and from where. Privacy unit: one person's whole history.
    Raises ParameterError where the mechanism, the domain and the numbers do not fit together.
    """

    dataset: str
    version: str
    source: EventSource
    mechanism: str
    asked: MechanismRequest
    expected: str | None = None

    def __post_init__(self) -> None:
        if self.kind.needs_bound and self.asked.max_items_per_unit is None:
            raise ParameterError("max_items_per_unit", None, f"stated for {self.mechanism}")
        _ = self.selector

    @cached_property
    def kind(self) -> Kind:
        """Return the kind of the mechanism of this name. Raises ParameterError where the domain and
        the delta do not allow it.
        """
        has_catalog, asked = self.source.catalog is not None, self.asked
        with_counts = bool(asked.share)
        return kind_of(
            self.mechanism, known_domain=has_catalog, delta=asked.delta, with_counts=with_counts
        )

    @cached_property
    def selector(self) -> Selector:
        """Return the mechanism itself, built for its part of epsilon and delta."""
        return parts_of(self.asked, self.kind)[0].build(self.kind)

    @cached_property
    def noise(self) -> NoisyCounts | None:
        """Return the noise of the counts beside the items; None where no counts are asked for."""
        return parts_of(self.asked, self.kind)[1]

    @property
    def least_items(self) -> int:
        """Return how many items a catalog must have: k, or 1 for a mechanism that may list
        fewer.
        """
        return self.asked.k if self.kind.needs_catalog else 1

    @property
    def task(self) -> CountingTask:
        """Return what is counted: every item of the catalog, or without a catalog the top kbar +
        1.
        """
        limit = None if self.source.catalog else self.asked.kbar + 1
        bound = self.asked.max_items_per_unit
        return CountingTask(**vars(self.source), max_items_per_unit=bound, limit=limit)

    @property
    def loss(self) -> ApproximateDP:
        """Return the loss of this release: the epsilon that was asked for, and the part of its
        delta that the mechanism and the counts need.
        """
        selected, noise = parts_of(self.asked, self.kind)
        delta = selected.delta + (delta_of(noise.privacy_loss()) if noise else 0)
        return ApproximateDP(Fraction(self.asked.epsilon), Fraction(delta), self.asked.neighbors)

    def charge_request(
        self, *, ranged: bool = False, as_of: str | None = None, day: str | None = None
    ) -> ChargeRequest:
        """Return the spend, whose digest and key are of what the operator says and of nothing that
        the events hold: whether a second release exists must not depend on them. `Ledger.asked`
        finds the newest charge of this digest, or makes another.

        ranged: the data set composes bounded-range charges by zCDP, so name them as such. as_of:
        the operator's word for the state of the events. day: today.
        """
        named = {"dataset": self.dataset, "version": self.version, "mechanism": self.mechanism}
        digest = digest_of(**named, **vars(self.asked), **named_in_full(self.source), as_of=as_of)
        added = self.loss if self.loss.delta else PureDP(self.loss.epsilon, self.loss.neighbors)
        return ChargeRequest(
            dataset=self.dataset,
            version=self.version,
            key=digest.hex(),
            digest=digest,
            loss=(self._ranged_loss if ranged else None) or added,
            place=place_of(self.source),
            day=day,
        )

    def select(self, counts: TopCounts, *, charge: int, bits: RandomBits) -> Release:
        """Return the release of the items that the mechanism draws from private counts, with noisy
        counts if they are asked for; it is public.
        """
        items, stopped, exact = draw(self.selector, counts, bits)
        noisy: dict[str, Any] = {}
        parameters = parameters_of(self.selector)
        if self.expected is not None:  # no part of the request, since no answer depends on it
            parameters["expected"] = self.expected
        if self.noise is not None:
            law = "geometric" if isinstance(self.noise.privacy_loss(), PureDP) else "Gaussian"
            parameters["counts"] = f"{self.asked.share} of epsilon, {law} noise"
            noisy = {
                "counts": self.noise.perturb(exact, bits=bits),
                "each_within": self.noise.error_bound(),
                "all_within": self.noise.error_bound(of=self.asked.k),
            }
        return Release(
            charge=charge,
            dataset=self.dataset,
            mechanism=self.mechanism,
            k=self.asked.k,
            items=items,
            ranked=self.kind.ranked,
            stopped=stopped,
            loss=self.loss,
            max_items_per_unit=self.asked.max_items_per_unit,
            parameters=parameters,
            **noisy,
        )

    @property
    def _ranged_loss(self) -> BoundedRange | None:
        """Return the loss as bounded-range rounds; None where the mechanism has none, counts are
        asked for, or the rounds add up to more than the epsilon asked for, which may be charged.
        """
        if not self.kind.is_ranged or self.noise is not None:
            return None
        loss: BoundedRange = self.kind.mechanism.ranged_loss(self.selector)
        return loss if loss.epsilon * loss.rounds <= self.asked.epsilon else None


def draw(
    selector: Selector, counts: TopCounts, bits: RandomBits
) -> tuple[tuple[str, ...], bool, list[int]]:
    """Return the names of the items that a mechanism selects, whether a threshold ended the list,
    and the true counts of these items, in the same order, which are private.

    Counts arrive by falling count. They are put in the order of the items' names first: a set is
    listed in the order of its places, and places by count would tell the true ranking. Ties then
    fall to the lower name, which is how the engine ordered them.
    """
    ordered = sorted(zip(counts.items, counts.counts, strict=True), key=_by_name)
    # Nobody at all must look like one person more: a zero in a limited domain is never selected.
    values = [count for _, count in ordered] or [0]
    chosen = selector.select(values, bits=bits)
    names = tuple(plain_name(ordered[place][0]) for place in chosen)
    exact = [values[place] for place in chosen]
    return names, bool(getattr(chosen, "stopped", False)), exact


def parameters_of(selector: Selector) -> dict[str, str]:
    """Return every public parameter of a mechanism that has a value, by name, as text; not the
    neighboring relation.
    """
    named = {name: value for name, value in vars(selector).items() if name != "neighbors"}
    return {name: str(value) for name, value in named.items() if value is not None}


def _by_name(row: tuple[str, int]) -> bytes:
    return row[0].encode()

"""What a release will do and spend, in public parameters: complete before any data are read."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from askew.dp.privacy import (
    ApproximateDP,
    BoundedRange,
    NeighboringRelation,
    PureDP,
    positive_rational,
)
from askew.dp.release import MAX_ITEMS, Release, plain_name
from askew.errors import ParameterError
from askew.noise.randomness import RandomBits
from askew_server.counting import ContributionBound, CountingTask, TopCounts
from askew_server.counting.engines import is_file
from askew_server.ledger import ChargeRequest, EventMark
from askew_server.release.selectors import Kind, Selector, Wish, kind_of


@dataclass(frozen=True, kw_only=True)
class EventSource:
    """Where the events of a data set are, and what makes their items public, if anything does.

    engine: where files and tables are, without a secret (`public_address`).
    """

    events: str
    engine: str = "duckdb:"
    catalog: str | None = None
    unit_column: str = "unit"
    item_column: str = "item"
    catalog_item_column: str = "item"

    @property
    def place(self) -> bytes:
        """SHA-256 of where the events are: one for a file by whatever name, link or engine."""
        if is_file(self.events):
            return place_of_file(self.events)
        return _digest_of_place(self.engine, self.events.casefold())

    def task(self, bound: ContributionBound | None, kbar: int) -> CountingTask:
        """What an engine is to count: every item of the catalog, or the top kbar + 1."""
        named = _named_fields(self)
        del named["engine"]  # whoever runs the task is one
        return CountingTask(bound=bound, limit=None if self.catalog else kbar + 1, **named)


@dataclass(frozen=True, kw_only=True)
class ReleasePlan:
    """One release: the data set, the mechanism and its loss. Everything in it is public.

    epsilon and delta are totals for the whole list. Privacy unit: one person's whole history.
    Raises ParameterError where the mechanism, the domain and the numbers do not fit together.
    """

    dataset: str
    version: str
    source: EventSource
    k: int
    epsilon: Fraction
    delta: Fraction
    mechanism: str
    neighbors: NeighboringRelation
    bound: ContributionBound | None
    expected: str | None = None  # what was known of the counts beforehand, and from where

    def __post_init__(self) -> None:
        positive_rational("epsilon", self.epsilon)
        if not 1 <= self.k <= MAX_ITEMS:
            raise ParameterError("k", self.k, f"from 1 to {MAX_ITEMS}")
        if self.kind.needs_bound and self.bound is None:
            raise ParameterError("max_items_per_unit", None, f"stated for {self.mechanism}")
        _ = self.selector

    @cached_property
    def kind(self) -> Kind:
        """The mechanism's row in the table of `selectors`."""
        known = self.source.catalog is not None
        return kind_of(self.mechanism, known_domain=known, delta=self.delta)

    @cached_property
    def selector(self) -> Selector:
        """The mechanism itself."""
        return self.kind.build(self.wish)

    @property
    def max_items_per_unit(self) -> int | None:
        """The contribution bound, as a number."""
        return None if self.bound is None else self.bound.max_items_per_unit

    @property
    def least_items(self) -> int:
        """How many items a catalog must have: k, unless the mechanism may stop before."""
        return self.k if self.kind.needs_catalog else 1

    @property
    def task(self) -> CountingTask:
        """What is counted."""
        return self.source.task(self.bound, self.wish.kbar)

    @property
    def loss(self) -> ApproximateDP:
        """The loss of this release alone: what was asked for."""
        return ApproximateDP(Fraction(self.epsilon), Fraction(self.delta), self.neighbors)

    def charge_request(
        self, key: str | None = None, *, ranged: bool = False, state: bytes | None = None
    ) -> ChargeRequest:
        """The spend. Without a key, the request is its own: the same one, of the same events, is
        never paid twice.

        ranged: the data set composes bounded-range charges by zCDP, so name them as such.
        state: 32 bytes that say which events these are, as `EventMark` has them.
        """
        asked = digest_of(
            self.source,
            dataset=self.dataset,
            version=self.version,
            mechanism=self.mechanism,
            k=self.k,
            epsilon=str(self.epsilon),
            delta=str(self.delta),
            neighbors=self.neighbors.value,
            max_items_per_unit=self.max_items_per_unit,
        )
        digest = asked if state is None else hashlib.sha256(asked + state).digest()
        return ChargeRequest(
            dataset=self.dataset,
            version=self.version,
            key=digest.hex() if key is None else key,
            digest=digest,
            loss=(self._ranged_loss if ranged else None) or self._added_loss,
            events=EventMark(asked, self.source.place, state or bytes(32)),
        )

    def select(self, counts: TopCounts, *, charge: int, bits: RandomBits) -> Release:
        """Run the mechanism on private counts; what comes back is public."""
        items, stopped = draw(self.selector, counts, bits)
        return Release(
            charge=charge,
            dataset=self.dataset,
            mechanism=self.mechanism,
            k=self.k,
            items=items,
            ranked=self.kind.ranked,
            stopped=stopped,
            loss=self.loss,
            max_items_per_unit=self.max_items_per_unit,
            parameters=parameters_of(self.selector) | self._expectation,
        )

    @property
    def _expectation(self) -> dict[str, str]:
        """As the release records it; no part of the request, since no answer depends on it."""
        return {} if self.expected is None else {"expected": self.expected}

    @property
    def wish(self) -> Wish:
        """What is asked of the mechanism."""
        return Wish(
            k=self.k,
            epsilon=Fraction(self.epsilon),
            delta=Fraction(self.delta),
            neighbors=self.neighbors,
            max_items_per_unit=self.max_items_per_unit,
        )

    @property
    def _ranged_loss(self) -> BoundedRange | None:
        """As bounded-range rounds, unless their sum, which may be charged, is above epsilon."""
        if self.kind.rounds is None:
            return None
        loss = self.kind.rounds(self.selector)
        return loss if loss.epsilon * loss.rounds <= self.epsilon else None

    @property
    def _added_loss(self) -> PureDP | ApproximateDP:
        return self.loss if self.delta else PureDP(self.loss.epsilon, self.neighbors)


def draw(selector: Selector, counts: TopCounts, bits: RandomBits) -> tuple[tuple[str, ...], bool]:
    """The names of the items that a mechanism selects, and whether a threshold ended the list.

    Counts arrive by falling count. They are put in the order of the items' names first: a set is
    listed in the order of its places, and places by count would tell the true ranking. Ties then
    fall to the lower name, which is how the engine ordered them.
    """
    ordered = sorted(zip(counts.items, counts.counts, strict=True), key=_by_name)
    # Nobody at all must look like one person more: a zero in a limited domain is never selected.
    values = [count for _, count in ordered] or [0]
    chosen = selector.select(values, bits=bits)
    names = tuple(plain_name(ordered[place][0]) for place in chosen)
    return names, bool(getattr(chosen, "stopped", False))


def place_of_file(name: str) -> bytes:
    """SHA-256 of where a file is."""
    return _digest_of_place("file", str(Path(name).resolve()))


def _digest_of_place(*where: str) -> bytes:
    return hashlib.sha256(json.dumps(where).encode()).digest()


def digest_of(source: EventSource, **public: str | int | None) -> bytes:
    """SHA-256 of everything that determines an answer."""
    request = {**public, **_named_fields(source)}
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).digest()


def parameters_of(selector: Selector) -> dict[str, str]:
    """Every public parameter of a mechanism, as text."""
    named = {name: value for name, value in vars(selector).items() if name != "neighbors"}
    return {name: str(value) for name, value in named.items() if value is not None}


def _named_fields(source: EventSource) -> dict[str, Any]:
    return {each.name: getattr(source, each.name) for each in fields(source)}


def _by_name(row: tuple[str, int]) -> bytes:
    return row[0].encode()

"""How good picks are in several ways of answering the same question, beside what is best of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import fmean

from askew.errors import ParameterError
from askew.protocol.ranking import Slate
from askew_client.near.pick import Judged

Judge = Callable[[Slate], tuple[Judged, ...]]


@dataclass(frozen=True)
class Row:
    """Means over draws. nearest: kilometers beyond the nearest place of all; wished: how much worse
    the pick is than the best place of all, in kilometers, where one passes the filters, else None;
    none: the share of draws in which none does.
    """

    nearest: float
    wished: float | None
    none: float


@dataclass
class Comparison:
    """Running means. around: the places nearest to the person, many enough to hold the best one.

    Raises ParameterError where they are not: a place beyond them could be better.
    """

    judge: Judge = field(repr=False)
    around: Slate = field(repr=False)
    most_worth: float

    def __post_init__(self) -> None:
        known = self.judge(self.around)
        self._nearest = min(each.distance for each in known)
        self._best = known[0].cost
        farthest = max(each.distance for each in known)
        if not known[0].passes or self._best > farthest - self.most_worth:
            raise ParameterError("around", len(known), "more places: a better one may be beyond")
        self._found: dict[str, list[tuple[float, float | None]]] = {}

    def add(self, way: str, slate: Slate) -> None:
        """One more draw of a way."""
        ranked = self.judge(slate)
        nearest = min(each.distance for each in ranked) - self._nearest
        wished = ranked[0].cost - self._best if ranked[0].passes else None
        self._found.setdefault(way, []).append((nearest, wished))

    def row(self, way: str) -> Row:
        """The means of a way that has a draw at least."""
        found = self._found[way]
        wished = [each for _, each in found if each is not None]
        return Row(
            nearest=fmean(each for each, _ in found),
            wished=fmean(wished) if wished else None,
            none=1 - len(wished) / len(found),
        )

"""How a device is served near a place: by the rows that it holds, or by a signal.

It follows from the settings, the card and what is held, all of them public: from no place, and from
no preference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from askew.errors import ParameterError
from askew.protocol.metric_card import MetricCard
from askew.protocol.modes import ServingMode
from askew_client.settings.settings import ClientSettings
from askew_client.transport.protocol import CachedRows
from askew_client.views.quote import ModeView

if TYPE_CHECKING:
    from askew.protocol.collection import Collection  # brings numpy

_SIGNAL = "one signal for items whole"
_VALUES = "one signal for live values: the rows are held"


@dataclass(frozen=True, eq=False)
class NearMode:
    """A mode, and the rows that it uses: ranked here, or, for a signal, joined with the live values
    that come. catalog_date: the Monday that a question names, or 0.
    """

    mode: ServingMode
    words: str
    rows: Mapping[str, Collection] = field(default_factory=dict, repr=False)
    catalog_date: int = 0

    @property
    def asks(self) -> bool:
        """Whether a signal is sent."""
        return self.mode is ServingMode.QUERY

    @property
    def view(self) -> ModeView:
        """For a person."""
        return ModeView(str(self.mode), self.words)


ASKED = NearMode(ServingMode.QUERY, _SIGNAL)


def wants_rows(card: MetricCard, collection: str, settings: ClientSettings) -> bool:
    """Whether rows are fetched for a question: as the person or else the server wants it."""
    if settings.mode != "auto":
        return settings.mode != "query"
    return all(each.mode is not ServingMode.QUERY for each in card.asked(collection))


def mode_of(
    card: MetricCard, collection: str, settings: ClientSettings, held: CachedRows | None
) -> NearMode:
    """The mode of a question. held: the rows, where they are wanted, whose card this is. Raises
    NotFound, and ParameterError for a mode of the person's that needs rows which are not held.
    """
    asked = card.asked(collection)
    rows = {} if held is None else {e.name: held.rows[e.name] for e in asked if e.name in held.rows}
    there = held is not None and len(rows) == len(asked)
    whole = there and all(len(rows[each.name]) == each.n_items for each in asked)
    live = any(each.is_live for each in asked)
    wanted = settings.mode
    if (wanted == "local" and not whole) or (wanted == "cached" and not there):
        limit = f"another one: not every row is held within the byte budget, {settings.byte_budget}"
        raise ParameterError("mode", wanted, limit)
    if held is None or not there or wanted == "query" or (wanted == "auto" and live and not whole):
        return ASKED
    if wanted == "auto" and live:
        return NearMode(ServingMode.QUERY, _VALUES, rows, held.catalog_date)
    count = sum(map(len, rows.values()))
    words = f"{'all ' * whole}{count:,} items are held and ranked here: nothing is sent, epsilon 0"
    if live:
        words += "; live values are unknown"
    return NearMode(ServingMode.LOCAL if whole else ServingMode.CACHED, words, rows)

"""A picture of one signal in two dimensions, drawn with characters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askew.noise.randomness import RandomBits
from askew.protocol.signal import Query
from askew.retrieval import OffsetRule
from askew_client.forecast.forecast import played_rule
from askew_client.taste.exchange import Exchange

COLUMNS, ROWS = 66, 16
LEGEND = (
    "·  where the noise could have led   o  where the server looks\n  U  true point   S  signal"
)
_CLOUD = 200


def draw_map(exchange: Exchange, query: Query, bits: RandomBits) -> str:
    """True point, signal, other draws of the noise, and the server's probes around the signal.

    For the person's own screen only: the other draws are made here and never sent.
    """
    unit = exchange.card.space.encoder.unit
    cloud = np.array([exchange.perturb(bits).point() for _ in range(_CLOUD)])
    signal = query.signal.point()
    box = np.array([[0.0, 0.0], [unit, unit]])
    frame = np.vstack([box, cloud, signal])
    corner, size = frame.min(axis=0), np.ptp(frame, axis=0)
    cells = [[" "] * COLUMNS for _ in range(ROWS)]

    def mark(points: NDArray[np.floating], symbol: str) -> None:
        for x, y in (np.atleast_2d(points) - corner) / size * (COLUMNS - 1, ROWS - 1):
            cells[ROWS - 1 - round(y)][round(x)] = symbol

    mark(cloud, "·")
    rule = played_rule(exchange)
    if isinstance(rule, OffsetRule):
        mark(rule.probes(query.signal, query.k), "o")
    mark(signal, "S")
    mark(exchange.profile.point, "U")
    return "\n".join(["  " + "".join(row).rstrip() for row in cells] + ["", f"  {LEGEND}"])

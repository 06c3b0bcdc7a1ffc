"""A picture of one exchange in two dimensions, drawn with characters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askew.ranking import Slate
from askew.signal import Query
from askew_client.exchange import Exchange

COLUMNS, ROWS = 66, 16
LEGEND = "·  items   o  results   P  the pick   U  true profile   S  signal that left"


def draw_map(exchange: Exchange, query: Query, slate: Slate, picked: int) -> str:
    """Items, profile, signal, results and pick on one map. For the person's own screen only."""
    positions = exchange.catalog.positions
    signal = query.signal.vector(2)
    frame = np.vstack([positions, exchange.profile.vector, signal])
    corner, size = frame.min(axis=0), np.ptp(frame, axis=0)
    cells = [[" "] * COLUMNS for _ in range(ROWS)]

    def mark(points: NDArray[np.floating], symbol: str) -> None:
        scaled = (np.atleast_2d(points) - corner) / np.where(size > 0, size, 1.0)
        for x, y in scaled * (COLUMNS - 1, ROWS - 1):
            cells[ROWS - 1 - round(y)][round(x)] = symbol

    mark(positions, "·")
    mark(slate.positions, "o")
    mark(signal, "S")
    mark(positions[picked], "P")
    mark(exchange.profile.vector, "U")
    return "\n".join(["  " + "".join(row).rstrip() for row in cells] + ["", f"  {LEGEND}"])

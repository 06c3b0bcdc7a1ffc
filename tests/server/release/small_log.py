"""The counts of a small log."""

from __future__ import annotations

from askew_server.counting import TopCounts

# By falling count, as an engine gives them; the order of the names is another one.
COUNTS = TopCounts(("d", "b", "e", "a", "c"), (5000, 4000, 3000, 20, 10))

"""How large what a model says may be: public limits that also hold where no model is loaded."""

from __future__ import annotations

MAX_RANKING_DIMENSION = 256
MAX_DIMENSION = 16  # of a signal
MAX_AXES = 3  # of a metric space
MAX_BUCKETS = 4096
MAX_RATING = 1000.0
VERSION_BYTES = 16

"""How every worker of the tests runs."""

from __future__ import annotations

import gc

# Thousands of collected tests are half a million objects that live to the end: to look them through
# after every 700 new objects, as Python does by itself, took a quarter of the time of tests of the
# app.
gc.set_threshold(20_000)

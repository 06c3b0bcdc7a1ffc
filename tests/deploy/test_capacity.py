"""The table of capacity in docs/operations.md is what its formulas give, on today's calendar."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/operations.md").read_text(encoding="utf-8")

_spec = importlib.util.spec_from_file_location("capacity", ROOT / "deploy/capacity.py")
assert _spec is not None and _spec.loader is not None  # noqa: PT018
capacity = importlib.util.module_from_spec(_spec)
sys.modules["capacity"] = capacity  # as its dataclasses need
_spec.loader.exec_module(capacity)


def test_the_page_has_the_table_of_today() -> None:
    """Planted bug: a device that looks once in three days."""
    assert "\n".join(capacity.table(capacity.Habits())) in PAGE


def test_a_figure_that_was_reckoned_by_hand() -> None:
    """A billion devices: 386 questions a second, 53 Gbit/s of whole files over a week."""
    load = capacity.Load(10**9, capacity.Habits())
    assert load.questions == pytest.approx(385.8, abs=0.1)
    assert load.mean_bits(4_000_000) == pytest.approx(52.9e9, rel=1e-3)
    assert load.file_bits(4_000_000) == pytest.approx(3.5 * load.mean_bits(4_000_000))


def test_cores_grow_with_all_that_a_question_takes() -> None:
    habits = capacity.Habits()
    cores = capacity.Load(10**9, habits).cores
    for change in ({"questions": 2.0}, {"peak": 6.0}, {"busy": 0.25}, {"question_cpu": 1136e-6}):
        assert capacity.Load(10**9, replace(habits, **change)).cores == pytest.approx(2 * cores)

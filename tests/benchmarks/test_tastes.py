"""What a signal of tastes is worth, by the benchmark that docs/utility.md is made of."""

from __future__ import annotations

import pytest
from benchmarks import tastes

from askew.errors import DataError
from askew_server.demo.simulation import films, simulate


def test_each_person_is_dealt_to_one_part() -> None:
    """Planted bug: clients whom the model was made of."""
    parts = [set(rows.tolist()) for rows in tastes.deal(1000, 3)]
    assert [len(part) for part in parts] == [660, 170, 170]
    assert len(set.union(*parts)) == 1000
    with pytest.raises(DataError, match="too few to split"):
        tastes.deal(100, 0)


def test_every_mode_stands_beside_the_slate_of_no_signal() -> None:
    """Planted bug: a gain over what is held alone, which any slate has."""
    table = simulate(films()[:120], n_people=400)
    cells = {each.label: each for each in tastes.measured(table, seeds=[0], ks=[5], epsilons=[4])}
    assert {name for name, _, _ in cells} >= {"popularity", "EASE", "all", "first 64", "none"}
    none = cells["none", 5, 0.0]
    for rule in ("naive", "codebook"):
        cell = cells[rule, 5, 4.0]
        assert cell.gain.mean == pytest.approx(cell.ndcg.mean - none.ndcg.mean)
        assert 0 < none.best.mean < cell.best.mean < 1
    held, alike = cells["held 64", 5, 4.0], cells["held 64", 5, 0.0]
    assert held.gain.mean == pytest.approx(held.ndcg.mean - alike.ndcg.mean)

"""The whole protocol on a small simulated world: deterministic, complete, and written down."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from askew.errors import ParameterError
from askew.noise.lattice import LatticeLaplace
from askew.protocol.utility_table import RuleKind
from askew_server.cli.main import cli
from askew_server.demo.simulation import films, simulate
from askew_server.evaluation.experiment import Experiment, deal
from askew_server.evaluation.report import as_csv, as_lines, leak_lines, measure_lines
from askew_server.evaluation.study import NO_SIGNAL, Protocol, Signals, Study, naive_slates
from askew_server.ratings import RatingTable

SMALL = Protocol(
    epsilons=(1.0, 8.0),
    ks=(1, 4),
    seeds=(0,),
    sizes=(2, 6),
    min_ratings=5,
)
# One of everything, for what must come out the same twice.
LEAST = replace(SMALL, epsilons=(2.0,), ks=(3,))


@cache
def small_table() -> RatingTable:
    ratings = simulate(films(), n_people=400)
    keys = tuple(film.title for film in films())
    return RatingTable(ratings.person, ratings.item, ratings.rating, 400, keys)


def run(protocol: Protocol = SMALL) -> Study:
    study = Study(small_table(), protocol, "simulated")
    study.play(lambda _, done: None)
    return study


@cache
def once() -> Study:
    return run()


@cache
def experiment() -> Experiment:
    return Experiment.of(deal(small_table(), 0, 5), 0)


def test_same_ratings_same_seeds_same_figures() -> None:
    first, again = run(LEAST), run(LEAST)
    assert as_csv(first.cells) == as_csv(again.cells)
    assert first.leaks == again.leaks


def test_every_cell_is_there_with_its_error() -> None:
    labels = [(c.label.rule, c.label.epsilon, c.label.k) for c in once().cells]
    noisy = ("naive", "offsets", "codebook", "posterior", "buckets")
    expected = {
        (rule, epsilon, k)
        for k in (1, 4)
        for rule, epsilon in [
            ("none", 0.0),
            ("open", 0.0),
            *[(rule, epsilon) for rule in noisy for epsilon in (1.0, 8.0)],
        ]
    }
    assert len(labels) == len(set(labels))
    assert set(labels) == expected
    for cell in once().cells:
        assert 0 <= cell.ratio.mean <= 1 + 1e-9
        assert math.isfinite(cell.ratio.error)
        assert math.isfinite(cell.over_none.error)


def test_the_ends_of_the_scale_are_no_signal_and_everybodys_best() -> None:
    none, best = ([c for c in once().cells if c.label.rule == name] for name in ("none", "open"))
    assert [(c.over_none.mean, c.over_none.error) for c in none] == [(0.0, 0.0)] * 2
    assert [c.ratio.mean for c in best] == [1.0] * 2


def test_a_sharper_signal_serves_better() -> None:
    found = {(c.label.rule, c.label.epsilon): c.ratio.mean for c in once().cells if c.label.k == 4}
    for rule in (RuleKind.POSTERIOR, RuleKind.BUCKETS):
        assert found[rule, 8.0] > found[rule, 1.0]
        assert found[rule, 8.0] > found[RuleKind.NONE, 0.0]


def test_every_mechanism_spends_the_same_between_any_two_people() -> None:
    """Planted bug: the lattice's epsilon per distance taken for the plain one."""
    for cell in once().cells:
        cost, epsilon = cell.guarantee, cell.label.epsilon
        if cell.label.rule in {"none", "open"}:
            assert (epsilon, cost) == (0.0, NO_SIGNAL)
            continue
        assert cost.epsilon is not None
        assert cost.per_rating is not None
        assert cost.epsilon == pytest.approx(epsilon, rel=1e-3)
        if cell.label.rule == "buckets":
            assert (cost.per_distance, cost.per_rating) == (None, cost.epsilon)
        else:
            assert cost.epsilon <= epsilon
            assert cost.per_distance is not None
            assert cost.per_rating < cost.epsilon


def test_a_point_is_sent_with_the_epsilon_that_its_space_needs() -> None:
    here = experiment()
    for epsilon, d in ((1.0, 1), (8.0, 2), (16.0, 4)):
        assert here.dimension_for(epsilon) == d
        space = here.space(d)
        signals = Signals.drawn(here, space, epsilon)
        assert signals.lattice == LatticeLaplace.for_epsilon(Fraction(epsilon) / space.diameter)


def test_naive_is_the_best_of_the_decoded_taste_at_every_k() -> None:
    here = experiment()
    space = here.space(2)
    signals = Signals.drawn(here, space, 8.0)
    found = naive_slates(here, signals, [1, 4])
    points = signals.coordinates * signals.lattice.step
    tastes = space.encoder.decode(points.astype(np.float64))
    for row, taste in enumerate(tastes[:10]):
        scores = here.scoring @ taste
        assert scores[found[4][row]].tolist() == sorted(scores, reverse=True)[:4]
        assert found[1][row].tolist() == found[4][row][:1].tolist()


def test_what_stands_together_costs_the_same() -> None:
    """Planted bug: rows in the order in which they were played."""
    rows = as_lines(once())
    order = [float(row[0] or 0) for row in rows]
    assert order == sorted(order)
    by_rule = {row[1]: row for row in rows if row[0] == "8"}
    assert list(by_rule) == ["naive", "offsets", "codebook", "posterior", "buckets"]
    assert by_rule["buckets"][2] == "8"
    assert 0 < float(by_rule["posterior"][2]) < 8


def test_measures_are_shown_for_one_k() -> None:
    k, rows = measure_lines(once())
    assert k == 4
    assert len(rows) == len(as_lines(once()))
    (sharp,) = (row for row in rows if row[:2] == ("8", "buckets"))
    wanted = (8.0, "buckets", 4)
    (cell,) = (c for c in once().cells if (c.label.epsilon, c.label.rule, c.label.k) == wanted)
    assert sharp[5] == f"{cell.coverage:.2%}"
    assert sharp[6] == f"{cell.gains.worse} of {cell.n_clients}"
    assert 0 < cell.gains.worse < cell.gains.better


def test_in_the_open_nobody_is_worse_off_and_a_slate_has_k_items() -> None:
    """Planted bug: recall of the ten best items at k = 1."""
    found = {c.label.k: c for c in once().cells if c.label.rule == "open"}
    assert {cell.gains.worse for cell in found.values()} == {0}
    assert found[1].recall.mean < found[4].recall.mean
    assert found[1].ndcg.mean == found[1].hit.mean


def test_points_are_what_devices_say() -> None:
    """Planted bug: points from the unclipped taste."""
    here = experiment()
    space = here.space(2, 4.0, 4, learned=True)
    group = here.clients
    contributions = space.encoder.contributions(here.vectors)
    likes = group.tastes.people.likes
    rows = [likes.indices[likes.indptr[i] : likes.indptr[i + 1]] for i in range(len(group))]
    expected = np.array([space.encoder.encode(contributions[row]) for row in rows])
    assert here.points(space, group) == pytest.approx(expected, abs=1e-9)


def test_an_answer_leaks_less_without_the_person_than_with() -> None:
    leaks = once().leaks
    assert [leak.epsilon for leak in leaks] == [1, 8]
    sharp = leaks[1]
    assert sharp.difference.mean == pytest.approx(sharp.present.mean - sharp.removed.mean)
    assert sharp.difference.mean > 0.01  # d = 2 at epsilon 8: few others are near
    assert f"in {sharp.present.mean:.0%}, without" in list(leak_lines(leaks))[1]


def test_csv_has_a_row_a_cell() -> None:
    found = once()
    text = as_csv(found.cells)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert "nan" not in text
    assert len(rows) == len(found.cells)
    for row in (row for row in rows if row["epsilon"] != "0"):
        assert float(row["epsilon_spent"]) == pytest.approx(float(row["epsilon"]), rel=2e-3)
        assert float(row["epsilon_per_rating"]) <= float(row["epsilon_spent"])
        assert int(row["worse"]) + int(row["better"]) <= int(row["n_clients"])
        assert 0 < float(row["coverage"]) < 1
        assert float(row["gain_5"]) <= float(row["gain_50"]) <= float(row["gain_95"])


@pytest.mark.parametrize(
    "wrong", [{"rules": ()}, {"seeds": (1, 1)}, {"ks": (65,)}, {"epsilons": (0.0,)}]
)
def test_a_protocol_that_makes_no_sense_is_refused(wrong: dict[str, tuple[object, ...]]) -> None:
    with pytest.raises(ParameterError):
        Protocol(**wrong)  # type: ignore[arg-type]


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    """Without times; only `timed` adds some."""
    table, path = small_table(), tmp_path / "r.csv"
    columns = (table.person.tolist(), table.item.tolist(), table.rating.tolist())
    lines = [f"{person},{item},{rating}" for person, item, rating in zip(*columns, strict=True)]
    path.write_text("\n".join(["user,item,rating", *lines]), encoding="utf-8")
    return path


def timed(ratings: Path) -> Path:
    head, *lines = ratings.read_text(encoding="utf-8").splitlines()
    path = ratings.with_name("timed.csv")
    rows = [f"{line},{at}" for at, line in enumerate(lines)]
    path.write_text("\n".join([f"{head},timestamp", *rows]), encoding="utf-8")
    return path


def test_the_command_holds_out_the_latest_where_there_are_times(
    tmp_path: Path, ratings: Path
) -> None:
    """It writes the figures and prints them."""
    options = ["--held-out", "latest", "--seeds", "0", "-k", "1,3", "--epsilons", "1"]
    out = tmp_path / "f.csv"
    refused = CliRunner().invoke(
        cli, ["evaluate", "--ratings", str(ratings), "--out", str(out), *options]
    )
    assert "not every rating has a time" in str(refused.exception)
    assert not out.exists()
    done = CliRunner().invoke(
        cli,
        ["evaluate", "--ratings", str(timed(ratings)), "--out", str(out), *options],
        env={"COLUMNS": "120"},
    )
    assert done.exit_code == 0, done.output
    assert out.read_text(encoding="utf-8").count("\n") == 1 + 2 * 7
    assert "posterior" in done.output
    assert "400 people" in done.output


def test_the_command_names_a_wrong_list() -> None:
    done = CliRunner().invoke(cli, ["evaluate", "--seeds", "one"])
    assert done.exit_code == 2
    assert "'one' is not a list" in done.output

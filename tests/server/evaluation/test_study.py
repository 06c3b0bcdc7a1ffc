"""The whole protocol on a small simulated world: deterministic, complete, and written down."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from askew.errors import ParameterError
from askew_server.cli.main import cli
from askew_server.demo.simulation import films, simulate
from askew_server.evaluation.experiment import Experiment
from askew_server.evaluation.report import as_csv, as_lines, held_lines, leak_lines
from askew_server.evaluation.study import NO_SIGNAL, Label, Protocol, Study, naive_slates
from askew_server.ratings import RatingTable
from askew_server.taste.measures import Estimate, mean_of

SMALL = Protocol(
    epsilons=(1.0, 8.0),
    ks=(1, 4),
    seeds=(0,),
    sizes=(2, 6),
    min_ratings=5,
)
NOTHING_SENT = {"popularity", "popular-200", "item-kNN", "EASE", "local"} | {
    f"cached {n}" for n in (8, 25, 64, 200)
}
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
    return Experiment.of(small_table(), 0, 5)


@pytest.mark.slow
def test_same_ratings_same_seeds_same_figures() -> None:
    first, again = run(LEAST), run(LEAST)
    assert as_csv(first.cells) == as_csv(again.cells)
    assert first.leaks == again.leaks


@pytest.mark.slow
def test_every_cell_is_there_with_its_error() -> None:
    labels = [(c.label.rule, c.label.epsilon, c.label.k) for c in once().cells]
    noisy = ("naive", "offsets", "codebook", "posterior", "buckets")
    expected = {
        (rule, epsilon, k)
        for k in (1, 4)
        for rule, epsilon in [("none", 0.0), *[(r, e) for r in noisy for e in (1.0, 8.0)]]
    } | {(name, 0.0, 0) for name in NOTHING_SENT}
    assert len(labels) == len(set(labels))
    assert set(labels) == expected
    for cell in once().cells:
        for figure in (cell.ndcg, cell.recall):
            assert 0 <= figure.mean <= 1
            assert math.isfinite(figure.error)
        assert math.isfinite(cell.gain.error)


def test_the_ends_of_the_scale_are_no_signal_and_what_is_held_whole() -> None:
    found = {(c.label.rule, c.label.k): c for c in once().cells if not c.label.epsilon}
    assert [found["none", k].gain for k in (1, 4)] == [Estimate(0.0, 0.0)] * 2
    assert found["local", 0].ndcg.mean > found["cached 64", 0].ndcg.mean
    assert found["local", 0].ndcg.mean > found["popularity", 0].ndcg.mean
    assert found["cached 8", 0].ndcg.mean < found["cached 25", 0].ndcg.mean


def test_a_sharper_signal_serves_better() -> None:
    """By buckets, whose figures are expectations; one draw of 68 clients says less."""
    found = {c.label.epsilon: c.ndcg.mean for c in once().cells if c.label.rule == "buckets"}
    (none,) = (c.ndcg.mean for c in once().cells if c.label == Label("none", 4))
    assert found[8.0] > found[1.0]
    assert found[8.0] > none


def test_every_mechanism_spends_the_same_between_any_two_people() -> None:
    """Planted bug: the lattice's epsilon per distance taken for the plain one."""
    for cell in once().cells:
        cost, epsilon = cell.guarantee, cell.label.epsilon
        if cell.label.rule in {"none", *NOTHING_SENT}:
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


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "d"), [(1.0, 1), (8.0, 2), (16.0, 4)])
def test_a_space_has_the_dimension_that_suits_a_plain_epsilon(epsilon: float, d: int) -> None:
    assert experiment().for_signals(epsilon, 5).encoder.dimension == d


def test_naive_is_the_best_of_the_decoded_taste() -> None:
    here = experiment().for_signals(8.0, 5)
    points = here.clients.points[:10]
    found = naive_slates(here, points, 4)
    for row, taste in enumerate(here.encoder.decode(points)):
        scores = here.draft.catalog.scoring @ taste
        assert scores[found[row]].tolist() == sorted(scores, reverse=True)[:4]


def test_what_stands_together_costs_the_same() -> None:
    """Planted bug: rows in the order in which they were played."""
    rows = as_lines(once())
    order = [float(row[0] or 0) for row in rows]
    assert order == sorted(order)
    by_rule = {row[1]: row for row in rows if row[0] == "8"}
    assert list(by_rule) == ["naive", "offsets", "codebook", "posterior", "buckets"]
    assert by_rule["buckets"][2] == "8"
    assert 0 < float(by_rule["posterior"][2]) < 8


def test_who_is_worse_off_is_shown_of_the_largest_k() -> None:
    (sharp,) = (row for row in as_lines(once()) if row[:2] == ("8", "buckets"))
    (cell,) = (c for c in once().cells if c.label == Label("buckets", 4, 8.0))
    assert sharp[-2:] == (f"{cell.worse} of {cell.n_clients}", str(cell.better))
    assert 0 < cell.worse < cell.n_clients
    assert 0 < cell.better < cell.n_clients


def test_what_sends_nothing_is_shown_with_both_measures() -> None:
    rows = {row[0]: row for row in held_lines(once())}
    assert set(rows) == NOTHING_SENT
    (cell,) = (c for c in once().cells if c.label.rule == "EASE")
    assert rows["EASE"][2] == f"{cell.recall.mean:.3f} ± {cell.recall.error:.3f}".replace("0.", ".")


def test_the_baselines_are_made_of_the_servers_people_alone() -> None:
    """Planted bug: EASE with the clients in its matrix, which finds what is held out of them."""
    here = experiment()
    assert here.draft.told.people.seen.shape[0] == 264
    (cell,) = (c for c in once().cells if c.label.rule == "popularity")
    counts = here.draft.told.people.likes.sum(axis=0)
    met = here.clients.profiles.met(lambda people: np.tile(counts, (people.shape[0], 1)))
    assert cell.ndcg == mean_of(met.ndcg)


def test_points_are_what_devices_say() -> None:
    """Planted bug: points from the unclipped taste."""
    here = experiment().for_signals(4.0, 4)
    contributions = here.encoder.contributions(here.draft.catalog.vectors)
    likes = here.clients.profiles.likes
    rows = [likes.indices[likes.indptr[i] : likes.indptr[i + 1]] for i in range(len(here.clients))]
    expected = np.array([here.encoder.encode(contributions[row]) for row in rows])
    assert here.clients.points == pytest.approx(expected, abs=1e-9)


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


@pytest.mark.parametrize(
    "wrong", [{"ks": ()}, {"seeds": (1, 1)}, {"ks": (65,)}, {"epsilons": (0.0,)}]
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


@pytest.mark.slow
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
    assert out.read_text(encoding="utf-8").count("\n") == 1 + 2 * 6 + len(NOTHING_SENT)
    assert "posterior" in done.output
    assert "400 people" in done.output


def test_the_command_names_a_wrong_list() -> None:
    done = CliRunner().invoke(cli, ["evaluate", "--seeds", "one"])
    assert done.exit_code == 2
    assert "'one' is not a list" in done.output

"""The utility table: every figure and size recounted; as it is kept, renewed and shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from server.taste.model.measured_films import (
    OPTIONS,
    Told,
    file_size,
    held_out_rows,
    measured,
    small_table,
    summary,
    table_of,
    who_is_told,
    without_them,
)

from askew.catalog.catalog_file import HEAD_BYTES, Part
from askew.dp.privacy import Reach
from askew.errors import ArtifactError
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.signal import Query, Signal
from askew.protocol.utility_table import (
    BASELINES,
    Baseline,
    ModeUtility,
    ServingMode,
    UtilityTable,
)
from askew.wire.catalog_file import catalog_files, catalog_from_body
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.cli.main import cli
from askew_server.cli.training_data import lines_of
from askew_server.retrieval.snapshot import Retriever
from askew_server.taste.model import artifact
from askew_server.taste.model.item_model import train, update

# -- every figure, recounted -----------------------------------------------------------------------


@pytest.mark.slow
def test_a_row_of_buckets_is_what_the_server_gives_by_every_lie() -> None:
    """Planted bugs: a gain without pairs, whose error is larger; truth without lies; the model that
    the people told of are in.
    """
    model = without_them()
    buckets = model.card.space.buckets
    assert buckets is not None
    server, people = Retriever(model.card, model.catalog, model.prior), who_is_told(model)
    rows = [each for each in table_of(measured()).rows if each.mechanism == "bucket_rr"]
    assert len(rows) == 4 * 4  # plain epsilons by k
    for row in rows:
        response = RandomizedResponse.for_epsilon(len(buckets), row.epsilon)
        slates = [
            server.answer(Query(Signal(model.card.space.version, response, (b,)), row.k)).item_ids
            for b in range(len(buckets))
        ]
        truth = float(response.odds / (response.odds + len(buckets) - 1))
        lie = (1 - truth) / (len(buckets) - 1)

        odds = np.full((len(buckets), len(buckets)), lie) + (truth - lie) * np.eye(len(buckets))
        ndcg, recall = (
            [
                float(odds[each.bucket] @ [measure(each, slate) for slate in slates])
                for each in people
            ]
            for measure in (Told.ndcg, Told.recall)
        )
        same = model.catalog.shared_slate[: row.k]
        figures = summary(ndcg, [each.ndcg(same) for each in people])
        assert (row.ndcg, row.gain, row.gain_error) == pytest.approx(figures, abs=0.00051)
        assert row.recall == pytest.approx(sum(recall) / len(recall), abs=0.00051)


def test_a_row_of_points_is_what_the_server_gives_on_average() -> None:
    """Ten draws a person and row, of other noise than the table's own."""
    model, rng = without_them(), np.random.default_rng(1)
    people, server = who_is_told(model), Retriever(model.card, model.catalog, model.prior)
    (row,) = [
        each
        for each in table_of(measured()).rows
        if each.mechanism == "geo_laplace" and each.epsilon == 4 and each.k == 4
    ]
    lattice = LatticeLaplace.for_epsilon(row.epsilon)
    got = []
    for each in people:
        noise = rng.geometric(1 / (lattice.inverse_rate + 1), (10, 2, 2))
        values = np.rint(each.point / lattice.step).astype(int) + noise[:, 0] - noise[:, 1]
        signals = (Signal(model.card.space.version, lattice, tuple(v)) for v in values.tolist())
        slates = [server.answer(Query(signal, 4)).item_ids for signal in signals]
        got.append(float(np.mean([each.ndcg(slate) for slate in slates])))
    same = model.catalog.shared_slate[:4]
    ndcg, gain, error = summary(got, [each.ndcg(same) for each in people])
    assert row.gain == pytest.approx(gain, abs=4 * row.gain_error)
    assert row.ndcg == pytest.approx(ndcg, abs=4 * row.gain_error)
    assert 0.5 * error < row.gain_error < 3 * error


def test_what_is_held_and_nothing_sent_is_the_ranking_of_what_is_held() -> None:
    model = without_them()
    people, order = who_is_told(model), list(model.catalog.shared_slate)
    shown = {each.held: each for each in table_of(measured()).rows if not each.k}
    n_items = len(measured().catalog)
    assert set(shown) == {8, 25, 64, n_items}  # and none for more than there are films
    for held, row in shown.items():
        items = range(len(model.catalog)) if held == n_items else order[:held]
        for measure, figure in ((Told.ndcg, row.ndcg), (Told.recall, row.recall)):
            got = [measure(each, items) for each in people]
            assert figure == pytest.approx(sum(got) / len(got), abs=0.00051)


def test_a_signal_is_worth_the_fewest_items_that_give_as_much() -> None:
    """Planted bug: one item more or fewer."""
    model = without_them()
    people, slate = who_is_told(model), list(model.catalog.shared_slate)
    given = [
        sum(each.ndcg(slate[:n]) for each in people) / len(people) for n in range(len(slate) + 1)
    ]
    told = [
        each
        for each in table_of(measured()).rows
        if each.mode is ServingMode.QUERY and each.equivalent_items
    ]
    assert len({each.equivalent_items for each in told}) > 5
    for row in told:
        assert given[row.equivalent_items] >= row.ndcg - 0.00051
        assert max(given[: row.equivalent_items]) <= row.ndcg + 0.00051


@pytest.mark.slow
def test_what_is_held_counts_in_every_row_and_is_not_sent_again() -> None:
    model = without_them(12)
    assert measured(12).card.n_default == model.card.n_default == 12
    people, rows = who_is_told(model), table_of(measured(12)).rows

    def ndcg(items: list[int]) -> float:
        return sum(each.ndcg(items) for each in people) / len(people)

    (row,) = [e for e in rows if e.mode is ServingMode.CACHED and e.held == 12]
    assert row.ndcg == pytest.approx(ndcg(list(range(12))), abs=0.00051)
    signals = [each for each in rows if each.mode is ServingMode.QUERY]
    assert {each.held for each in signals} == {12}
    for each in signals:
        nothing = ndcg([*range(12), *model.catalog.shared_slate[: each.k]])
        assert each.gain == pytest.approx(each.ndcg - nothing, abs=0.00101)


def test_plain_recommenders_stand_beside_it() -> None:
    """Popularity recounted, and its 200 reranked by what is measured; EASE is best by construction
    of neither.
    """
    model = without_them()
    people, table = who_is_told(model), small_table().only(held_out_rows()[1])
    places = {key: place for place, key in enumerate(model.keys)}
    likes = np.zeros(len(model.catalog))
    for item, rating in zip(table.item.tolist(), table.rating.tolist(), strict=True):
        if rating >= 4 and table.item_keys[item] in places:
            likes[places[table.item_keys[item]]] += 1
    found = {each.name: each for each in table_of(measured()).baselines}
    assert tuple(found) == BASELINES
    plain = [replace(each, worth=np.where(each.worth > -np.inf, likes, -np.inf)) for each in people]
    everything = range(len(model.catalog))  # fewer than 200
    ndcg = sum(each.ndcg(everything) for each in plain) / len(plain)
    assert found["popularity"].ndcg == pytest.approx(ndcg, abs=0.00051)
    local = next(e for e in table_of(measured()).rows if e.mode is ServingMode.LOCAL)
    assert (found["popular-200"].ndcg, found["popular-200"].recall) == (local.ndcg, local.recall)
    assert found["EASE"].ndcg > found["popularity"].ndcg + 3 * found["EASE"].ndcg_error


def test_figures_are_told_in_thousandths() -> None:
    table = table_of(measured())
    for row in (*map(astuple, table.rows), *map(astuple, table.baselines)):
        figures = [each for each in row if isinstance(each, float)]
        assert len(figures) in {4, 6}
        assert figures == [round(each, 3) for each in figures]


@pytest.mark.slow
def test_the_same_ratings_make_the_same_table() -> None:
    options = replace(OPTIONS, default_items=12)
    twice = [train(small_table(), {}, options, source="s", file_size=file_size) for _ in range(2)]
    assert twice[0].card == twice[1].card


# -- sizes -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("default_items", [None, 12])
def test_sizes_are_those_of_the_files_that_are_served(default_items: int | None) -> None:
    """Planted bug: a formula for a file. The table is in the very files whose sizes it tells."""
    model = measured(default_items)
    files = {len(data) for data in catalog_files(model.card, model.catalog).values()}
    told = {
        each.size
        for each in table_of(model).rows
        if each.held in {len(model.catalog), model.card.n_default}
    }
    assert told == files
    assert len(files) == (1 if default_items is None else 2)


def test_holding_nothing_takes_no_bytes() -> None:
    assert {each.size for each in table_of(measured()).rows if not each.held} == {0}


pytestmark = pytest.mark.usefixtures("few_trials")


def test_a_model_keeps_its_table(tmp_path: Path) -> None:
    artifact.save(measured(12), tmp_path / "model")
    assert artifact.load(tmp_path / "model").card == measured(12).card


def test_a_device_reads_the_file_of_the_default_items() -> None:
    """With a slate for somebody who has said nothing yet: the default items, best first. Planted
    bug: the slate of the others, of which the file has none.
    """
    model = measured(12)
    data = catalog_files(model.card, model.catalog)[Part.DEFAULT]
    card, default_items = catalog_from_body(data[HEAD_BYTES:])
    assert card == model.card
    assert default_items.items == model.catalog.items[:12]
    assert default_items.shared_slate == tuple(range(12))


@pytest.mark.parametrize(
    "change",
    [
        lambda table: setattr(table, "proposed", 99),
        lambda table: table.ClearField("rows"),
        lambda table: setattr(table.rows[-1], "epsilon", "1/0"),
        lambda table: setattr(table.rows[-1], "held", 151),
        lambda table: setattr(table.rows[-1], "ndcg", 3.0),
    ],
    ids=["a row that is not there", "no rows", "no epsilon", "too many items", "a huge NDCG"],
)
def test_a_forged_table_is_refused(
    tmp_path: Path, forge: Callable[..., None], change: Callable[[pb.UtilityTable], object]
) -> None:
    artifact.save(measured(12), tmp_path / "model")
    forge(tmp_path / "model", card=lambda card: change(card.utility_table))
    with pytest.raises(ArtifactError):
        artifact.load(tmp_path / "model")


def test_a_newer_catalog_keeps_the_figures_and_counts_its_own_bytes() -> None:
    """Planted bug: the sizes of the old files."""
    old, table = measured(12), small_table()
    fewer = table.item >= 30
    less = replace(
        table, person=table.person[fewer], item=table.item[fewer], rating=table.rating[fewer]
    )
    new = update(old, less, {}, source="later", file_size=file_size)
    assert len(new.catalog) == 120
    assert new.card.n_default == 12
    before, after = table_of(old), table_of(new)
    assert [replace(each, size=0) for each in after.rows[1:]] == [
        replace(each, size=0) for each in before.rows[1:]
    ]
    files = {len(data) for data in catalog_files(new.card, new.catalog).values()}
    assert {each.size for each in after.rows if each.held in {120, 12}} == files
    assert after.rows[0].held == 120


def test_an_operator_reads_the_table_and_what_it_proposes() -> None:
    """Costs in the three units that belong together."""
    reach = Reach(Fraction(1, 8), Fraction(3))
    signal = ModeUtility(
        ServingMode.QUERY,
        1200,
        64_500,
        0.331,
        0.04,
        0.01,
        "geo_laplace",
        Fraction(1, 2),
        5,
        18,
        0.01,
        0.25,
        0.02,
    )
    whole, shared = (
        ModeUtility(mode, n, size, ndcg, ndcg_error=0.01, recall=0.25, recall_error=0.02)
        for mode, n, size, ndcg in (
            (ServingMode.LOCAL, 90_000, 3_900_000, 0.4),
            (ServingMode.CACHED, 1200, 64_500, 0.3),
        )
    )
    bucket = replace(signal, mechanism="bucket_rr", epsilon=Fraction(4), equivalent_items=0)
    plain = Baseline("EASE", 0.412, 0.009, 0.5, 0.01)
    table = UtilityTable((whole, shared, signal, bucket), 2, (plain,))
    *lines, proposal = lines_of(table, reach)
    recall = ".250 ± .020"
    assert [" ".join(line.split()) for line in lines[2:]] == [
        "EASE .412 ± .009 .500 ± .010",
        f"local 90,000 3,900,000 .400 ± .010 {recall}",
        f"cached 1,200 64,500 .300 ± .010 {recall}",
        f"query 1,200 64,500 geo_laplace 5 1.5 0.0625 0.5 .331 ± .010 {recall} +.040 ± .010 18",
        f"query 1,200 64,500 bucket_rr 5 4 4 .331 ± .010 {recall} +.040 ± .010 -",
    ]
    assert proposal == (
        "proposal   query: geo_laplace at 0.5, k = 5, brings +.040 ± .010 of NDCG@10 beside 1,200 "
        "items that everybody holds"
    )


@pytest.mark.parametrize(
    ("proposed", "sentence"),
    [
        (0, "local: a device holds all 9 items in 300 bytes, ranks them itself and sends nothing"),
        (1, "cached: a device ranks the 4 items that everybody holds and sends nothing; no signal"),
    ],
)
def test_a_proposal_says_why_nothing_is_sent(proposed: int, sentence: str) -> None:
    table = UtilityTable(
        (ModeUtility(ServingMode.LOCAL, 9, 300, 1.0), ModeUtility(ServingMode.CACHED, 4, 90, 0.5)),
        proposed,
    )
    *_, proposal = lines_of(table, Reach(Fraction(1), Fraction(3)))
    assert proposal.startswith(f"proposal   {sentence}")


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    table, path = small_table(200), tmp_path / "ratings.csv"
    rows = zip(table.person.tolist(), table.item.tolist(), table.rating.tolist(), strict=True)
    lines = [f"{person},film {item},{rating}" for person, item, rating in rows]
    path.write_text("\n".join(["user,item,rating", *lines]) + "\n")
    return path


def test_train_measures_saves_and_shows_the_table_of_its_default_items(
    tmp_path: Path, ratings: Path
) -> None:
    small = ["--ranking-dimension", "6", "--rule", "codebook"]
    command = ["train", "--ratings", str(ratings), *small, "--default-items", "20"]
    done = CliRunner().invoke(cli, [*command, "--out", str(tmp_path / "model")])
    assert done.exit_code == 0, done.output
    model = artifact.load(tmp_path / "model")
    assert model.card.n_default == 20
    assert "\n".join(lines_of(table_of(model), model.card.space.encoder.reach())) in done.output
    files = catalog_files(model.card, model.catalog)
    for part in files.values():
        assert f" {len(part):,} " in done.output


def test_a_default_items_of_nothing_is_refused(tmp_path: Path, ratings: Path) -> None:
    command = ["train", "--ratings", str(ratings), "--default-items", "0"]
    done = CliRunner().invoke(cli, [*command, "--out", str(tmp_path / "model")])
    assert done.exit_code == 2
    assert "--default-items" in done.output

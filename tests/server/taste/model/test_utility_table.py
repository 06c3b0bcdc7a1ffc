"""The utility table: every figure and size recounted; as it is kept, renewed and shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from server.taste.model.measured_films import (
    OPTIONS,
    file_size,
    measured,
    small_table,
    summary,
    table_of,
    tastes_of,
    who_is_told,
)

from askew.catalog.catalog_file import HEAD_BYTES, Part
from askew.dp.privacy import Reach
from askew.errors import ArtifactError
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.signal import Query, Signal
from askew.protocol.utility_table import ModeUtility, ServingMode, UtilityTable
from askew.wire.catalog_file import catalog_files, catalog_from_body
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.cli.main import cli
from askew_server.cli.training_data import lines_of
from askew_server.retrieval.snapshot import Retriever
from askew_server.taste.model import artifact
from askew_server.taste.model.item_model import train, update
from askew_server.taste.prior.people import as_they_are

# -- every figure, recounted -----------------------------------------------------------------------


def test_a_row_of_buckets_is_what_the_server_gives_by_every_lie() -> None:
    """Planted bugs: a gain without pairs, whose error is larger; truth without lies."""
    model = measured()
    buckets = model.card.space.buckets
    assert buckets is not None
    server, people = Retriever(model.card, model.catalog, model.prior), who_is_told(model)
    rows = [each for each in table_of(model).rows if each.mechanism == "bucket_rr"]
    assert len(rows) == 4 * 4  # plain epsilons by k
    for row in rows:
        response = RandomizedResponse.for_epsilon(len(buckets), row.epsilon)
        slates = [
            server.answer(Query(Signal(model.card.space.version, response, (b,)), row.k)).item_ids
            for b in range(len(buckets))
        ]
        truth = float(response.odds / (response.odds + len(buckets) - 1))
        lie = (1 - truth) / (len(buckets) - 1)
        got = [
            sum((truth if b == own else lie) * max(w[list(s)]) for b, s in enumerate(slates))
            for w, own in people
        ]
        same = list(model.catalog.shared_slate[: row.k])
        expected = summary(got, [max(w[same]) for w, _ in people], [max(w) for w, _ in people])
        assert (row.ratio, row.gain, row.gain_error) == pytest.approx(expected, abs=0.0051)


def test_a_row_of_points_is_what_the_server_gives_on_average() -> None:
    """Ten draws a person and row, of other noise than the table's own."""
    model, rng = measured(), np.random.default_rng(1)
    tastes, server = tastes_of(model), Retriever(model.card, model.catalog, model.prior)
    order = np.random.default_rng([OPTIONS.seed, 9]).permutation(len(tastes.vectors))
    fifth = len(order) // 5
    chosen = np.sort(order[fifth : 2 * fifth])
    people, encoder = who_is_told(model), model.card.space.encoder
    points = as_they_are(tastes, model.catalog.vectors, encoder, "all").points[chosen]
    (row,) = [
        each
        for each in table_of(model).rows
        if each.mechanism == "geo_laplace" and each.epsilon == 4 and each.k == 4
    ]
    lattice = LatticeLaplace.for_epsilon(row.epsilon)
    got = []
    for (worth, _), point in zip(people, points, strict=True):
        noise = rng.geometric(1 / (lattice.inverse_rate + 1), (10, 2, 2))
        values = np.rint(point / lattice.step).astype(int) + noise[:, 0] - noise[:, 1]
        signals = (Signal(model.card.space.version, lattice, tuple(v)) for v in values.tolist())
        slates = [server.answer(Query(signal, 4)).item_ids for signal in signals]
        got.append(float(np.mean([max(worth[list(slate)]) for slate in slates])))
    same = list(model.catalog.shared_slate[:4])
    ratio, gain, error = summary(
        got, [max(w[same]) for w, _ in people], [max(w) for w, _ in people]
    )
    assert row.gain == pytest.approx(gain, abs=4 * row.gain_error)
    assert row.ratio == pytest.approx(ratio, abs=4 * row.gain_error)
    assert 0.5 * error < row.gain_error < 3 * error


def test_a_row_of_shared_items_is_the_best_of_the_first_of_them() -> None:
    model = measured()
    people, best = who_is_told(model), sum(max(w) for w, _ in who_is_told(model))
    shown = {
        each.held: each.ratio for each in table_of(model).rows if each.mode is ServingMode.CACHED
    }
    assert set(shown) == {8, 25, 64}  # and none for more than there are films
    for held, ratio in shown.items():
        first = list(model.catalog.shared_slate[:held])
        assert ratio == pytest.approx(sum(max(w[first]) for w, _ in people) / best, abs=0.0051)
    assert table_of(model).rows[0].ratio == 1.0


def test_a_signal_is_worth_the_fewest_items_that_give_as_much() -> None:
    """Planted bug: one item more or fewer."""
    model = measured()
    people = who_is_told(model)
    best, slate = sum(max(w) for w, _ in people), list(model.catalog.shared_slate)
    ratios = [sum(max(w[slate[:n]]) for w, _ in people) / best for n in range(1, len(slate) + 1)]
    told = [
        each
        for each in table_of(model).rows
        if each.mode is ServingMode.QUERY and each.equivalent_items
    ]
    assert len({each.equivalent_items for each in told}) > 5
    for row in told:
        assert ratios[row.equivalent_items - 1] >= row.ratio - 0.0051
        assert row.equivalent_items == 1 or ratios[row.equivalent_items - 2] <= row.ratio + 0.0051


def test_what_is_held_counts_in_every_row_and_is_not_sent_again() -> None:
    model = measured(12)
    assert model.card.n_default == 12
    people, best = who_is_told(model), sum(max(w) for w, _ in who_is_told(model))
    default_items = sum(max(w[:12]) for w, _ in people) / best
    (row,) = [e for e in table_of(model).rows if e.mode is ServingMode.CACHED and e.held == 12]
    assert row.ratio == pytest.approx(default_items, abs=0.0051)
    signals = [each for each in table_of(model).rows if each.mode is ServingMode.QUERY]
    assert {each.held for each in signals} == {12}
    assert min(each.ratio for each in signals) >= row.ratio
    nothing = {
        each.k: sum(max(w[[*range(12), *model.catalog.shared_slate[: each.k]]]) for w, _ in people)
        / best
        for each in signals
    }
    for each in signals:
        assert each.gain == pytest.approx(each.ratio - nothing[each.k], abs=0.0101)


def test_figures_are_told_in_hundredths() -> None:
    for each in table_of(measured()).rows:
        for figure in (each.ratio, each.gain, each.gain_error):
            assert figure == round(figure, 2)


def test_the_same_ratings_make_the_same_table() -> None:
    options = replace(OPTIONS, default_items=12)
    twice = [train(small_table(), {}, options, source="s", file_size=file_size) for _ in range(2)]
    assert twice[0].card == twice[1].card


# -- sizes -----------------------------------------------------------------------------------------


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
    ],
    ids=["a row that is not there", "no rows", "no epsilon", "more items than there are"],
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
        0.93,
        0.04,
        0.01,
        "geo_laplace",
        Fraction(1, 2),
        5,
        equivalent_items=18,
    )
    whole = ModeUtility(ServingMode.LOCAL, 90_000, 3_900_000, 1.0)
    shared = ModeUtility(ServingMode.CACHED, 1200, 64_500, 0.89)
    bucket = replace(signal, mechanism="bucket_rr", epsilon=Fraction(4), equivalent_items=0)
    *lines, proposal = lines_of(UtilityTable((whole, shared, signal, bucket), 2), reach)
    cells = [line.split() for line in lines[2:]]
    assert cells == [
        ["local", "90,000", "3,900,000", "1.00"],
        ["cached", "1,200", "64,500", "0.89"],
        [
            "query",
            "1,200",
            "64,500",
            "geo_laplace",
            "5",
            "1.5",
            "0.0625",
            "0.5",
            "0.93",
            "+0.04",
            "±",
            "0.01",
            "18",
        ],
        [
            "query",
            "1,200",
            "64,500",
            "bucket_rr",
            "5",
            "4",
            "4",
            "0.93",
            "+0.04",
            "±",
            "0.01",
            "-",
        ],
    ]
    assert proposal == (
        "proposal   query: geo_laplace at 0.5, k = 5, brings +0.04 ± 0.01 beside 1,200 items that "
        "everybody holds"
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

"""The utility table, as it is kept, renewed and shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner
from server.taste.model.measured_films import (
    file_size,
    measured,
    small_table,
    table_of,
)

from askew.catalog.held_file import HEAD_BYTES, Part
from askew.dp.privacy import Reach
from askew.errors import ArtifactError
from askew.protocol.utility_table import ModeUtility, ServingMode, UtilityTable
from askew.wire.held import held_files, held_from_body
from askew_server.cli.main import cli
from askew_server.cli.training_data import lines_of
from askew_server.taste.model import artifact
from askew_server.taste.model.item_model import update

pytestmark = pytest.mark.usefixtures("few_trials")


def test_a_model_keeps_its_table(tmp_path: Path) -> None:
    artifact.save(measured(12), tmp_path / "model")
    assert artifact.load(tmp_path / "model").card == measured(12).card


def test_a_device_reads_the_file_of_the_starter_items() -> None:
    """With a slate for somebody who has said nothing yet: the starter items, best first. Planted
    bug: the slate of the others, of which the file has none.
    """
    model = measured(12)
    data = held_files(model.card, model.catalog)[Part.STARTER]
    card, starter = held_from_body(data[HEAD_BYTES:])
    assert card == model.card
    assert starter.items == model.catalog.items[:12]
    assert starter.shared_slate == tuple(range(12))


FORGERIES = {
    "a row that is not there": ("utility_table.proposed", 99),
    "no rows": ("utility_table.rows", []),
    "no table where there must be one": ("utility_table", []),
}


@pytest.mark.parametrize(("path", "value"), FORGERIES.values(), ids=FORGERIES)
def test_a_forged_table_is_refused(
    tmp_path: Path, forge: Callable[..., None], path: str, value: object
) -> None:
    artifact.save(measured(12), tmp_path / "model")
    forge(tmp_path / "model", card={path: value})
    with pytest.raises(ArtifactError):
        artifact.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("field", "value"), [("mode", "both"), ("epsilon", "1/0"), ("held", 151), ("ratio", 3.0)]
)
def test_a_forged_row_is_refused(
    tmp_path: Path, forge: Callable[..., None], field: str, value: object
) -> None:
    artifact.save(measured(12), tmp_path / "model")
    rows = json.loads((tmp_path / "model" / "card.json").read_text())["utility_table"]["rows"]
    rows[-1][field] = value
    forge(tmp_path / "model", card={"utility_table.rows": rows})
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
    assert new.card.n_starter == 12
    before, after = table_of(old), table_of(new)
    assert [replace(each, size=0) for each in after.rows[1:]] == [
        replace(each, size=0) for each in before.rows[1:]
    ]
    files = {len(data) for data in held_files(new.card, new.catalog).values()}
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


def test_train_measures_saves_and_shows_the_table_of_its_starter(
    tmp_path: Path, ratings: Path
) -> None:
    small = ["--ranking-dimension", "6", "--rule", "codebook"]
    command = ["train", "--ratings", str(ratings), *small, "--starter", "20"]
    done = CliRunner().invoke(cli, [*command, "--out", str(tmp_path / "model")])
    assert done.exit_code == 0, done.output
    model = artifact.load(tmp_path / "model")
    assert model.card.n_starter == 20
    assert "\n".join(lines_of(table_of(model), model.card.space.encoder.reach())) in done.output
    files = held_files(model.card, model.catalog)
    for part in files.values():
        assert f" {len(part):,} " in done.output


def test_a_starter_of_nothing_is_refused(tmp_path: Path, ratings: Path) -> None:
    command = ["train", "--ratings", str(ratings), "--starter", "0"]
    done = CliRunner().invoke(cli, [*command, "--out", str(tmp_path / "model")])
    assert done.exit_code == 2
    assert "--starter" in done.output

"""A collection's number, by which questions name it, is given once and kept for ever."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from small_collections import GERMANY, cafes, posts

from askew.catalog.catalog_file import FIRST, PERIOD
from askew.errors import ArtifactError, DataError, ParameterError
from askew_server.collections.artifact import NUMBERS_FILE, numbers_for
from askew_server.collections.model import MetricModel, model_of
from askew_server.retrieval.answers import Serving
from askew_server.retrieval.snapshot import Snapshot, SnapshotHolder


def test_a_number_is_given_once_and_kept_for_ever(tmp_path: Path) -> None:
    """Whatever is collected later, in whatever order. Planted bug: the place in a list."""
    models = tmp_path / "models"
    assert numbers_for(models, ["cafes", "bars"]) == {"cafes": 0, "bars": 1}
    assert numbers_for(models, ["places to eat", "bars"])["places to eat"] == 2
    assert numbers_for(models, ["cafes"])["cafes"] == 0
    assert (models / NUMBERS_FILE).read_text() == "0 cafes\n1 bars\n2 places to eat\n"


def test_256_numbers_are_all_there_are(tmp_path: Path) -> None:
    numbers_for(tmp_path, [f"c{n}" for n in range(256)])
    before = (tmp_path / NUMBERS_FILE).read_bytes()
    assert numbers_for(tmp_path, ["c255"])["c255"] == 255
    with pytest.raises(ParameterError, match="none is free, and none is reused"):
        numbers_for(tmp_path, ["one more"])
    assert (tmp_path / NUMBERS_FILE).read_bytes() == before


@pytest.mark.parametrize(
    "text", ["0 cafes\n0 bars\n", "0 cafes\n1 cafes\n", "256 cafes\n", "-1 cafes\n", "0 \n"]
)
def test_a_file_that_gives_a_number_twice_is_refused_and_stays(tmp_path: Path, text: str) -> None:
    (tmp_path / NUMBERS_FILE).write_text(text)
    with pytest.raises(DataError, match=r"line [12]"):
        numbers_for(tmp_path, ["bars"])
    assert (tmp_path / NUMBERS_FILE).read_text() == text


def test_a_number_of_two_names_is_not_served() -> None:
    """A device would reach the wrong collection for as long as it holds its card."""

    def snapshot(model: MetricModel, since: int) -> Snapshot:
        return replace(Serving(model).snapshot, since=since)

    before = snapshot(model_of(GERMANY, [cafes()]), FIRST)
    other = replace(posts(), card=replace(posts().card, number=cafes().card.number))
    after = snapshot(model_of(GERMANY, [other]), FIRST + PERIOD)
    holder = SnapshotHolder(before)
    with pytest.raises(ArtifactError, match="number 0 is that of the collection cafes"):
        holder.swap(after)
    with pytest.raises(ArtifactError):
        SnapshotHolder(before, after)
    assert holder.snapshots == (before,)
    holder.swap(snapshot(model_of(GERMANY, [cafes(), posts()]), FIRST + PERIOD))
    assert len(holder.snapshots) == 2

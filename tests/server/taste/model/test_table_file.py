"""Answers made beforehand as a file of a model: read back as they were, or refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load as decode

from askew_server.cli.training_data import bytes_held
from askew_server.ratings import ItemRow, RatingTable
from askew_server.retrieval.tabulated import tables_for
from askew_server.taste.model import artifact
from askew_server.taste.model.item_model import ItemModel, train
from askew_server.taste.prior.source import Cohort
from askew_server.taste.training.options import TrainingOptions

Arrays = dict[str, NDArray[Any]]
Forge = Callable[..., None]
Refusal = Callable[[Path], str]
N_ITEMS, N_DEFAULT = 24, 4


@pytest.fixture(scope="module")
def tabulated(table: RatingTable, rows: dict[str, ItemRow]) -> ItemModel:
    """A model with a prior, buckets and default items."""
    options = TrainingOptions(
        min_ratings=5, least_likes=4, rule="posterior", default_items=N_DEFAULT, k=3, epsilon=2.0
    )
    prior = Cohort("friends")
    model = train(table, rows, options, source="s", prior=prior, file_size=bytes_held)
    return replace(model, tables=tables_for(model))


@pytest.fixture
def saved(tmp_path: Path, tabulated: ItemModel) -> Path:
    artifact.save(tabulated, tmp_path / "model")
    return tmp_path / "model"


def file_of(directory: Path) -> Arrays:
    return decode((directory / "tables.safetensors").read_bytes())


def place_of(model: ItemModel) -> int:
    """The largest table."""
    assert model.tables is not None
    tables = model.tables.tables
    return max(range(len(tables)), key=lambda at: len(tables[at].slates))


def test_tables_are_read_back_as_they_were(saved: Path, tabulated: ItemModel) -> None:
    loaded = artifact.load(saved).tables
    assert loaded is not None
    assert tabulated.tables is not None
    for before, after in zip(tabulated.tables.tables, loaded.tables, strict=True):
        assert (before.lattice, before.k, before.cells) == (after.lattice, after.k, after.cells)
        np.testing.assert_array_equal(before.numbers, after.numbers)
        np.testing.assert_array_equal(before.slates, after.slates)
    assert loaded.fits(tabulated.card)


def test_no_tabulated_answer_names_a_default_item(tabulated: ItemModel) -> None:
    assert tabulated.tables is not None
    assert tabulated.card.n_held == N_DEFAULT
    assert all(each.slates.min() >= N_DEFAULT for each in tabulated.tables.tables)


def test_a_model_without_tables_has_no_file_of_them(tmp_path: Path, tabulated: ItemModel) -> None:
    artifact.save(replace(tabulated, tables=None), tmp_path / "bare")
    assert not (tmp_path / "bare" / "tables.safetensors").exists()
    assert artifact.load(tmp_path / "bare").tables is None


def test_the_same_model_writes_the_same_tables(
    tmp_path: Path, saved: Path, tabulated: ItemModel
) -> None:
    artifact.save(replace(tabulated, tables=tables_for(tabulated)), tmp_path / "again")
    first, second = (each / "tables.safetensors" for each in (saved, tmp_path / "again"))
    assert first.read_bytes() == second.read_bytes()


def test_a_forgery_that_changes_nothing_is_the_model(saved: Path, forge: Forge) -> None:
    """Or every refusal below could be the fault of the forger."""
    forge(saved, tables=file_of(saved))
    assert artifact.load(saved).tables is not None


def set_at(name: str, value: int, at: int = 0) -> Callable[[Arrays], Arrays]:
    def change(arrays: Arrays) -> Arrays:
        changed = arrays[name].copy()
        changed.ravel()[at] = value
        return {**arrays, name: changed}

    return change


def on(name: str, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Callable[[Arrays], Arrays]:
    return lambda arrays: {**arrays, name: np.ascontiguousarray(change(arrays[name]))}


# Of the table of a mechanism with the most slates; N and S stand for its two arrays.
FORGED: dict[str, Callable[[Arrays], Arrays]] = {
    "an item beyond the catalog": on("S", lambda s: np.where(s == s[0, -1], N_ITEMS, s)),
    "the largest item": set_at("S", 2**31 - 1, at=2),
    "a negative item": set_at("S", -1),
    "a default item": set_at("S", N_DEFAULT - 1),
    "an item twice": on("S", lambda s: np.concatenate([s[:, :1], s[:, :-1]], axis=1)),
    "descending items": on("S", lambda s: s[:, ::-1]),
    "items of 64 bits": on("S", lambda s: s.astype(np.int64)),
    "items as fractions": on("S", lambda s: s.astype(np.float32)),
    "a slate too many": on("S", lambda s: np.concatenate([s, s[:1]])),
    "a slate too few": on("S", lambda s: s[:-1]),
    "no slates": on("S", lambda s: s[:0]),
    "an item too few": on("S", lambda s: s[:, :-1]),
    "flat slates": on("S", lambda s: s.ravel()),
    "the number of no slate": set_at("N", 2**31 - 1),
    "a negative number of a slate": set_at("N", -1),
    "a cell too few": on("N", lambda n: n[:-1]),
    "a cell too many": on("N", lambda n: np.append(n, n[:1])),
    "no cells": on("N", lambda n: n[:0]),
    "cells of 64 bits": on("N", lambda n: n.astype(np.int64)),
    "cells in rows": on("N", lambda n: n[None]),
    "cells left out": lambda a: {name: array for name, array in a.items() if name != "N"},
    "an array of another name": lambda a: {**a, "more": np.zeros(1, np.int32)},
    "versions left out": lambda a: {name: x for name, x in a.items() if name != "versions"},
    "versions cut short": on("versions", lambda v: v[:-1]),
    "another space": set_at("versions", 0),
    "another catalog": set_at("versions", 0, at=16),
}


@pytest.mark.parametrize("change", FORGED.values(), ids=FORGED)
def test_forged_tables_are_refused(
    saved: Path,
    tabulated: ItemModel,
    change: Callable[[Arrays], Arrays],
    forge: Forge,
    refusal: Refusal,
) -> None:
    """With digests that fit."""
    place = place_of(tabulated)
    names = {f"numbers_{place}": "N", f"slates_{place}": "S"}
    arrays = {names.get(name, name): array for name, array in file_of(saved).items()}
    back = {short: name for name, short in names.items()}
    forged = {back.get(name, name): array for name, array in change(arrays).items()}
    forge(saved, tables=forged)
    assert refusal(saved)


@pytest.mark.parametrize("data", [b"", b"{}", b"\x80\x04\x95\x1d", bytes(100)])
def test_a_hostile_file_of_tables_is_refused(
    saved: Path, data: bytes, forge: Forge, refusal: Refusal
) -> None:
    forge(saved, tables=data)
    assert refusal(saved)


def test_the_tables_of_another_model_are_refused(
    tmp_path: Path, saved: Path, tabulated: ItemModel, forge: Forge, refusal: Refusal
) -> None:
    """As after a catalog was made anew and its tables were not."""
    reordered = replace(tabulated.catalog, shared_slate=tabulated.catalog.shared_slate[::-1])
    card = replace(tabulated.card, catalog_version=reordered.version)
    other = replace(tabulated, card=card, catalog=reordered)
    artifact.save(replace(other, tables=tables_for(other)), tmp_path / "other")
    stale = (tmp_path / "other" / "tables.safetensors").read_bytes()
    forge(saved, tables=stale)
    assert "its own space and catalog" in refusal(saved)


FORGED_ROWS: dict[str, dict[str, object]] = {
    "no rows": {"tables": []},
    "k = 0": {"k": 0},
    "another k": {"k": 4},
    "the largest k": {"k": 2**63 - 1},
    "a step exponent of 21": {"step_exponent": 21},
    "an inverse rate of 0": {"inverse_rate": 0},
    "no nodes": {"per_axis": 0},
    "one node": {"per_axis": 1},
    "another number of nodes": {"per_axis": 7},
    "more nodes than memory": {"per_axis": 2**40},
    "a field more": {"more": 1},
}


@pytest.mark.parametrize("change", FORGED_ROWS.values(), ids=FORGED_ROWS)
def test_forged_rows_of_a_card_are_refused(
    saved: Path, tabulated: ItemModel, change: dict[str, object], forge: Forge, refusal: Refusal
) -> None:
    forge(saved, manifest={"tables": forged_rows(saved, tabulated, change)})
    assert refusal(saved)


def forged_rows(saved: Path, model: ItemModel, change: dict[str, object]) -> object:
    rows = json.loads((saved / "manifest.json").read_bytes())["tables"]
    if "tables" in change:
        return change["tables"]
    rows[place_of(model)] |= change
    return rows


def test_two_tables_of_one_lattice_and_k_are_refused(
    saved: Path, tabulated: ItemModel, forge: Forge, refusal: Refusal
) -> None:
    place, rows = place_of(tabulated), forged_rows(saved, tabulated, {})
    assert isinstance(rows, list)
    arrays = file_of(saved)
    for name in ("numbers", "slates"):
        arrays[f"{name}_{len(rows)}"] = arrays[f"{name}_{place}"]
    forge(saved, manifest={"tables": [*rows, rows[place]]}, tables=arrays)
    assert "one a lattice and k" in refusal(saved)


def test_a_missing_file_of_tables_is_refused(saved: Path, refusal: Refusal) -> None:
    (saved / "tables.safetensors").unlink()
    assert "tables.safetensors" in refusal(saved)


def test_tables_that_are_not_the_ones_of_the_manifest_are_refused(
    saved: Path, refusal: Refusal
) -> None:
    path = saved / "tables.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    assert "is not the file that its manifest names" in refusal(saved)

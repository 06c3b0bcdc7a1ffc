"""A model directory is read back whole, or refused with a reason: nothing in between."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askew.errors import ArtifactError
from askew_server.ratings import RatingTable
from askew_server.taste.model import artifact
from askew_server.taste.model import directory as folder
from askew_server.taste.model.item_model import ItemModel, train
from askew_server.taste.training.options import TrainingOptions

FILES = ("manifest.json", "card.binpb", "arrays.safetensors", "items.json")

Fields = dict[str, Any]


def same(expected: ItemModel, actual: ItemModel) -> bool:
    return (
        expected.card == actual.card
        and expected.catalog.version == actual.catalog.version
        and tuple(expected.keys) == tuple(actual.keys)
        and expected.training == actual.training
        and dict(expected.counts) == dict(actual.counts)
    )


# -- there and back --------------------------------------------------------------------------------


def test_a_saved_model_is_the_model_that_is_loaded(tmp_path: Path, model: ItemModel) -> None:
    """In directories that do not exist yet."""
    artifact.save(model, tmp_path / "a" / "b" / "model")
    assert {path.name for path in (tmp_path / "a" / "b" / "model").iterdir()} == {*FILES}
    loaded = artifact.load(tmp_path / "a" / "b" / "model")
    assert same(model, loaded)
    assert model.catalog.items == loaded.catalog.items
    assert model.catalog.shared_slate == loaded.catalog.shared_slate
    np.testing.assert_array_equal(model.catalog.vectors, loaded.catalog.vectors, strict=True)
    np.testing.assert_array_equal(model.catalog.boosts, loaded.catalog.boosts, strict=True)


def test_a_model_trained_with_whole_numbers_is_loaded(tmp_path: Path, table: RatingTable) -> None:
    """4 and 4.0 are the same epsilon, and must have the same digest."""
    options = TrainingOptions(min_ratings=5, like_from=4)
    trained = train(table, {}, options, source="whole numbers")
    artifact.save(trained, tmp_path / "whole")
    assert same(trained, artifact.load(tmp_path / "whole"))


@pytest.mark.parametrize("taken", ["a file", "a directory", "a dangling link"])
def test_a_name_that_is_taken_is_refused_and_what_is_there_stays(
    tmp_path: Path, model: ItemModel, taken: str
) -> None:
    path = tmp_path / "model"
    if taken == "a file":
        path.touch()
    elif taken == "a directory":
        path.mkdir()
    else:
        path.symlink_to("nowhere")
    before = path.lstat()
    with pytest.raises(ArtifactError, match="already exists"):
        artifact.save(model, path)
    assert (path.lstat().st_ino, path.lstat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_fills_up_leaves_nothing_behind(
    tmp_path: Path, model: ItemModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []

    def fail_at_the_second(path: Path, data: bytes) -> None:
        written.append(path)
        path.write_bytes(data)
        if len(written) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder, "write_durably", fail_at_the_second)
    with pytest.raises(ArtifactError, match="cannot be written: No space left on device"):
        artifact.save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


# -- damage ----------------------------------------------------------------------------------------


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "cannot be read: No such file or directory"),
    "a directory": (Path.mkdir, ""),
    "a link to itself": (
        lambda path: path.symlink_to(path.name),
        "cannot be read: Too many levels of symbolic links",
    ),
    # A pipe would block for ever, and a device such as /dev/zero never ends; both say size 0.
    "no regular file": (lambda path: path.symlink_to("/dev/null"), "regular file"),
    "other bytes": (lambda path: path.write_bytes(b"{}"), ""),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(("damage", "words"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_refused_by_its_name(
    directory: Path,
    name: str,
    damage: Callable[[Path], object],
    words: str,
    refusal: Callable[[Path], str],
) -> None:
    (directory / name).unlink()
    damage(directory / name)
    said = refusal(directory)
    assert words in said
    assert name in said or name == "manifest.json"


@pytest.mark.parametrize("name", FILES)
def test_a_file_over_the_limit_is_refused_before_it_is_read(
    directory: Path, name: str, monkeypatch: pytest.MonkeyPatch, refusal: Callable[[Path], str]
) -> None:
    size = (directory / name).stat().st_size
    monkeypatch.setitem(artifact._LIMITS, name, size)
    assert artifact.load(directory)
    monkeypatch.setitem(artifact._LIMITS, name, size - 1)
    assert f"{name} has {size} bytes, the limit is {size - 1}" in refusal(directory)


@pytest.mark.parametrize("name", FILES[1:])
def test_a_file_of_another_size_than_the_manifest_says_is_not_read(
    directory: Path, name: str, monkeypatch: pytest.MonkeyPatch, refusal: Callable[[Path], str]
) -> None:
    """Planted bug: a file of holes, within the limit, takes more memory than the server has."""
    opened, read_bytes = list[str](), Path.read_bytes

    def noted(path: Path) -> bytes:
        opened.append(path.name)
        return read_bytes(path)

    os.truncate(directory / name, 1 << 20)
    monkeypatch.setattr(Path, "read_bytes", noted)
    assert "is not the file that its manifest names" in refusal(directory)
    assert name not in opened


def variants(directory: Path, name: str, change: Callable[[bytes, int], bytes]) -> Iterator[int]:
    """The places at which a change of one file goes unnoticed, or changes what is loaded."""
    original = (directory / name).read_bytes()
    model = artifact.load(directory)
    for place in range(len(original)):
        (directory / name).write_bytes(change(original, place))
        try:
            loaded = artifact.load(directory)
        except ArtifactError:
            continue
        # The manifest may spell the same number or the same space between words in another way.
        if name != "manifest.json" or not same(model, loaded):
            yield place


@pytest.mark.thin
@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_anywhere_is_refused(directory: Path, name: str) -> None:
    """One bit of each byte, now this and now that."""

    def flip(data: bytes, place: int) -> bytes:
        bit = 1 << 5 * place % 8
        return data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]

    assert not list(variants(directory, name, flip))


# -- the manifest ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b'{"schema_version": ' + b"1" * 5000 + b"}",
        b"{}",
        b"[" * 100_000,
        b"\xff\xfe\x00",
    ],
    ids=range(5),
)
def test_a_manifest_that_is_none_is_refused(
    directory: Path, data: bytes, refusal: Callable[[Path], str]
) -> None:
    (directory / "manifest.json").write_bytes(data)
    assert "manifest" in refusal(directory)


def test_a_version_does_not_depend_on_how_many_items_are_read_at_once(
    monkeypatch: pytest.MonkeyPatch, model: ItemModel
) -> None:
    versions = set()
    for at_once in (1, 7, 4096):
        monkeypatch.setattr("askew.catalog.catalog._AT_ONCE", at_once)
        versions.add(replace(model.catalog).version)
    assert versions == {model.catalog.version}

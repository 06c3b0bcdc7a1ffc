"""Payloads: what only a reply brings, each with its own item, from a file that is checked."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from askew.errors import ArtifactError, DataError
from askew.limits import MAX_PAYLOAD
from askew.noise.lattice import LatticeLaplace
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query, Signal
from askew.wire.tastes import slate_from_bytes, slate_to_bytes
from askew_server.ratings import ItemRow, RatingTable
from askew_server.retrieval.served import snapshot_of
from askew_server.taste.model import artifact
from askew_server.taste.model.item_model import ItemModel, update
from askew_server.taste.model.payloads import FirstOf, PayloadFiles

Matrix = NDArray[np.float64]
Refusal = Callable[[Path], str]


def article(key: str) -> bytes:
    """A payload that tells whose it is; of different lengths."""
    return f"<p>{key}</p>".encode() * (1 + len(key) * int(key.removeprefix("key ")) % 5)


def with_payloads(model: ItemModel, but: str = "") -> ItemModel:
    """Every item but one has a payload."""
    payloads = tuple(b"" if key == but else article(key) for key in model.keys)
    return replace(model, payloads=payloads)


@pytest.fixture
def saved(tmp_path: Path, model: ItemModel) -> Path:
    artifact.save(with_payloads(model, but="key 3"), tmp_path / "articles")
    return tmp_path / "articles"


@pytest.fixture
def folder(tmp_path: Path, model: ItemModel) -> Path:
    """A file for each item, with an ending or without, and some that are of no item."""
    (tmp_path / "pages").mkdir()
    for place, key in enumerate(model.keys):
        ending = (".html", "")[place % 2]
        (tmp_path / "pages" / f"{key}{ending}").write_bytes(article(key))
    (tmp_path / "pages" / "README.md").write_text("about these pages")
    (tmp_path / "pages" / "key 1.d").mkdir()
    return tmp_path / "pages"


def all_of(model: ItemModel) -> dict[str, bytes]:
    assert model.payloads is not None
    assert len(model.payloads) == len(model.keys)
    return {key: model.payloads[item] for item, key in enumerate(model.keys)}


def answered(model: ItemModel, k: int) -> Slate:
    lattice = LatticeLaplace.for_epsilon(Fraction(4))
    signal = Signal(model.card.space.version, lattice, (0,) * model.card.space.dimension)
    slate = snapshot_of(model).answers.answer(Query(signal, k))
    assert isinstance(slate, Slate)
    return slate


# -- each with its own item ------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 5])
def test_a_reply_brings_the_payload_of_each_of_its_items(saved: Path, k: int) -> None:
    """Planted bug: the payload of another item, such as that of the place in the slate."""
    model = artifact.load(saved)
    slate = answered(model, k)
    expected = [b"" if key == "key 3" else article(key) for key in model.keys]
    assert slate.payloads == tuple(expected[item] for item in slate.item_ids)
    received = slate_from_bytes(slate_to_bytes(slate, model.card), model.card, k)
    assert received.payloads == slate.payloads


def test_a_model_without_payloads_brings_none(model: ItemModel) -> None:
    assert answered(model, 5).payloads == ()


def test_stored_payloads_are_those_that_were_given(saved: Path, model: ItemModel) -> None:
    """Planted bug: every payload one item too far."""
    assert all_of(artifact.load(saved)) == all_of(with_payloads(model, but="key 3"))


def test_payloads_of_nothing_at_all_are_kept_too(tmp_path: Path, model: ItemModel) -> None:
    empty = (b"",) * len(model.keys)
    artifact.save(replace(model, payloads=empty), tmp_path / "empty")
    assert set(all_of(artifact.load(tmp_path / "empty")).values()) == {b""}


def test_the_largest_payload_is_kept_and_served(tmp_path: Path, model: ItemModel) -> None:
    large = (bytes(MAX_PAYLOAD),) * len(model.keys)
    artifact.save(replace(model, payloads=large), tmp_path / "large")
    slate = answered(artifact.load(tmp_path / "large"), 5)
    assert [len(each) for each in slate.payloads] == [MAX_PAYLOAD] * 5


def test_items_keep_their_payloads_in_a_catalog_that_follows(
    saved: Path,
    table_of: Callable[[Matrix], RatingTable],
    matrix: Matrix,
    rows: dict[str, ItemRow],
    tmp_path: Path,
) -> None:
    """Items 2 and 7 go, item 24 comes. Planted bug: payloads by place instead of by item."""
    later = np.column_stack([matrix, np.where(np.nan_to_num(matrix[:, 0]) >= 4, 5.0, 2.0)])
    later[:, [2, 7]] = np.nan
    new = update(artifact.load(saved), table_of(later), rows, source="later")
    artifact.save(new, tmp_path / "later")
    bare = ("key 3", "key 24")
    expected = {key: b"" if key in bare else article(key) for key in new.keys}
    assert all_of(artifact.load(tmp_path / "later")) == expected
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "key 24.html").write_bytes(b"new")
    (tmp_path / "pages" / "key 5.html").write_bytes(b"another version")
    assert new.payloads is not None
    both = FirstOf(PayloadFiles.in_folder(tmp_path / "pages", new.keys), new.payloads)
    assert all_of(replace(new, payloads=both)) == expected | {
        "key 24": b"new",
        "key 5": b"another version",
    }


# -- folders of files ------------------------------------------------------------------------------


def test_files_are_payloads_of_the_items_that_they_are_named_by(
    folder: Path, model: ItemModel
) -> None:
    found = replace(model, payloads=PayloadFiles.in_folder(folder, model.keys))
    assert all_of(found) == {key: article(key) for key in model.keys}


def test_two_files_of_one_item_are_refused(folder: Path, model: ItemModel) -> None:
    (folder / "key 4.txt").write_text("which one?")
    with pytest.raises(DataError, match="are both of item key 4"):
        PayloadFiles.in_folder(folder, model.keys)


def test_a_file_that_is_too_large_is_named(folder: Path, model: ItemModel) -> None:
    (folder / "key 5").unlink(missing_ok=True)
    (folder / "key 5.html").unlink(missing_ok=True)
    (folder / "key 5.pdf").write_bytes(bytes(MAX_PAYLOAD + 1))
    with pytest.raises(DataError, match=r"key 5\.pdf is larger than a payload may be, 262144"):
        PayloadFiles.in_folder(folder, model.keys)


@pytest.mark.parametrize("name", ["nowhere", "key 0.html"])
def test_what_is_no_folder_is_refused(folder: Path, model: ItemModel, name: str) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        PayloadFiles.in_folder(folder / name, model.keys)


def test_a_folder_with_no_file_of_an_item_is_refused(tmp_path: Path, model: ItemModel) -> None:
    with pytest.raises(DataError, match="no file that is named by the key of an item"):
        PayloadFiles.in_folder(tmp_path, model.keys)


def test_a_large_file_of_no_item_is_left_alone(folder: Path, model: ItemModel) -> None:
    (folder / "film.mp4").write_bytes(bytes(MAX_PAYLOAD + 1))
    found = replace(model, payloads=PayloadFiles.in_folder(folder, model.keys))
    assert all_of(found) == {key: article(key) for key in model.keys}


def test_a_link_that_leads_out_of_the_folder_is_refused(folder: Path, model: ItemModel) -> None:
    """Payloads are published: who may put files there must not choose others of this machine."""
    (folder.parent / "secret").write_text("a key")
    (folder / "key 5").unlink(missing_ok=True)
    (folder / "key 5.html").unlink(missing_ok=True)
    (folder / "key 5.txt").symlink_to(folder.parent / "secret")
    with pytest.raises(DataError, match=r"key 5\.txt leads out of the folder"):
        PayloadFiles.in_folder(folder, model.keys)


def test_a_link_within_the_folder_is_followed(folder: Path, model: ItemModel) -> None:
    """Mounted volumes are made of such links."""
    page = min(folder.glob("key *.html"))
    page.rename(folder / "..data")
    page.symlink_to("..data")
    found = replace(model, payloads=PayloadFiles.in_folder(folder, model.keys))
    assert all_of(found) == {key: article(key) for key in model.keys}


# -- damage ----------------------------------------------------------------------------------------


def flipped(data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:]


@pytest.mark.parametrize(
    "change", [flipped, lambda data: data[:-1], lambda data: data + b"x", lambda _: b""]
)
def test_payloads_that_are_not_the_ones_of_the_card_are_refused(
    saved: Path, refusal: Refusal, change: Callable[[bytes], bytes]
) -> None:
    file = saved / "payloads.bin"
    file.write_bytes(change(file.read_bytes()))
    assert "payloads.bin is not the file that its manifest names" in refusal(saved)


def test_a_missing_file_of_payloads_is_named(saved: Path, refusal: Refusal) -> None:
    (saved / "payloads.bin").unlink()
    assert "payloads.bin cannot be read: No such file or directory" in refusal(saved)


def test_what_is_no_regular_file_is_not_even_opened(saved: Path, refusal: Refusal) -> None:
    (saved / "payloads.bin").unlink()
    (saved / "payloads.bin").symlink_to("/dev/zero")
    assert "is no regular file" in refusal(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda ends: ends - 1,
        lambda ends: ends + 1,
        lambda ends: ends[::-1].copy(),
        lambda ends: ends[1:],
        lambda ends: np.where(np.arange(len(ends)) == 4, -1, ends),
        lambda ends: np.where(np.arange(len(ends)) == 4, 2**62, ends),
    ],
    ids=["short", "long", "backwards", "one less", "before the file", "far beyond"],
)
def test_places_that_are_not_in_the_file_are_refused(
    saved: Path, refusal: Refusal, forge: Callable[..., None], change: Callable[[Matrix], Matrix]
) -> None:
    from safetensors.numpy import load

    arrays = load((saved / "arrays.safetensors").read_bytes())
    forge(saved, arrays=arrays | {"payload_ends": change(arrays["payload_ends"])})
    assert "payloads" in refusal(saved)


def test_a_payload_that_is_too_large_is_refused(tmp_path: Path, model: ItemModel) -> None:
    large = (bytes(MAX_PAYLOAD + 1), *(b"x",) * (len(model.keys) - 1))
    with pytest.raises(DataError, match="262144"):
        artifact.save(replace(model, payloads=large), tmp_path / "large")
    assert not (tmp_path / "large").exists()


def test_the_manifest_names_the_file_of_payloads(saved: Path) -> None:
    manifest = json.loads((saved / "manifest.json").read_bytes())
    assert manifest["files"]["payloads.bin"]["bytes"] == (saved / "payloads.bin").stat().st_size


def test_a_file_that_is_cut_while_it_is_served_ends_nothing(saved: Path) -> None:
    """Planted bug: a memory map, which ends the process where the file ends early."""
    model = artifact.load(saved)
    assert model.payloads is not None
    os.truncate(saved / "payloads.bin", 0)
    with pytest.raises(ArtifactError, match=r"payloads\.bin was cut while it was served"):
        model.payloads[model.keys.index("key 4")]


def test_a_file_that_is_replaced_or_removed_is_served_as_it_was(saved: Path) -> None:
    model = artifact.load(saved)
    before = all_of(model)
    (saved / "payloads.bin").unlink()
    (saved / "payloads.bin").write_bytes(b"another")
    assert all_of(model) == before

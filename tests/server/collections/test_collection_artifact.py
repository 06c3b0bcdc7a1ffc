"""A metric model is read back whole, or refused with a reason: nothing in between."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load as decode
from safetensors.numpy import save as encode
from small_collections import DAY, cafes, posts, small_map

from askew.errors import ArtifactError
from askew.protocol.cards import MetricRuleKind
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.cli.saved_model import load as load_either
from askew_server.collections import artifact
from askew_server.collections.model import MetricModel, model_of

CAFES = "collection-0.safetensors"
ARRAYS = [CAFES, "collection-1.safetensors", "keys-0.safetensors", "towns.safetensors"]
Arrays = dict[str, NDArray[Any]]
Change = Callable[[Arrays], object]


def shown(model: MetricModel) -> object:
    """The card, and all that replies may say of the items."""
    parts = model.collections.items()
    return model.card, {name: part.listings(range(len(part))) for name, part in parts}


def reason(directory: Path) -> str:
    """Why it is refused."""
    try:
        artifact.load(directory)
        artifact.read_keys(directory, 0)
    except ArtifactError as refusal:
        return str(refusal)
    pytest.fail("it was read")


def forge(directory: Path, name: str, change: Change) -> None:
    """What somebody who can write the directory could do: arrays and every digest anew."""
    stored = decode((directory / name).read_bytes())
    arrays = {array_name: array.copy() for array_name, array in stored.items()}
    change(arrays)
    sign(directory, name, encode(arrays))


def sign(directory: Path, name: str = "", data: bytes = b"", more: Any = None) -> None:
    """Another content of a file, or more fields of the manifest, whose digest fits."""
    fields = json.loads((directory / "manifest.json").read_text()) | (more or {})
    if name:
        (directory / name).write_bytes(data)
        fields["files"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    del fields["sha256"]
    text = json.dumps(fields, sort_keys=True)
    fields["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    (directory / "manifest.json").write_text(json.dumps(fields))


def test_a_saved_model_is_the_model_that_is_loaded(directory: Path) -> None:
    """Also by what loads models of tastes, and on an axis."""
    loaded, model = artifact.load(directory), small_map()
    assert shown(loaded) == shown(model) == shown(load_either(directory))  # type: ignore[arg-type]
    assert loaded.towns is not None
    assert model.towns is not None
    np.testing.assert_array_equal(loaded.towns.people, model.towns.people)
    line = model_of(DAY, [posts(DAY)], rule=MetricRuleKind.NEAREST)
    artifact.save(line, directory / "line")
    assert shown(artifact.load(directory / "line")) == shown(line)


def test_the_version_is_of_what_is_not_live() -> None:
    old = cafes()
    live = old.with_live({"open": type(old.columns[3]).unknown(len(old))})
    live.check()
    assert live.card.version == cafes().card.version != cafes(seed=8).card.version


@pytest.mark.parametrize("name", ["manifest.json", "card.binpb", *ARRAYS])
def test_a_byte_changed_a_file_cut_short_or_gone_is_noticed(directory: Path, name: str) -> None:
    """Planted bug: the digest of a file is not compared."""
    data = (directory / name).read_bytes()
    for place in range(0, len(data), max(1, len(data) // 30)):
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        for written in (changed, data[:place]):
            (directory / name).write_bytes(written)
            assert reason(directory)
    (directory / name).unlink()
    assert reason(directory)


def put(name: str, at: int, value: object) -> Change:
    """One value of an array is another."""

    def change(arrays: Arrays) -> None:
        arrays[name][at] = value

    return change


def by(name: str, change: Callable[[NDArray[Any]], NDArray[Any]], of: str = "") -> Change:
    """An array is changed, or is what becomes of another one."""
    return lambda arrays: arrays.update({name: change(arrays[of or name])})


BROKEN = "the titles must be printable"


FORGED: dict[str, tuple[Change, str]] = {
    "nowhere": (put("coordinates", 3, np.nan), "positions outside"),
    "overlapping ends": (by("title_ends", lambda ends: ends[[0, 0, *range(2, 30)]]), BROKEN),
    "within the cup": (by("title_ends", lambda ends: np.append(ends[0] - 1, ends[1:])), BROKEN),
    "an unknown code": (put("0.codes", 3, 2), "the column kind must be codes"),
    "another type": (by("1.values", lambda v: v.astype(np.float64)), "does not hold the arrays"),
    "too few": (by("1.values", lambda v: v[:-1]), "no usable model"),
    "one axis more": (
        by("coordinates", lambda c: np.column_stack([c, np.zeros(30)])),
        "positions outside",
    ),
    "one array more": (by("5.values", np.copy, "1.values"), "does not hold the arrays"),
    "another title": (put("titles", 0, ord("K")), "the version of a collection"),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_arrays_with_right_digests_are_refused(directory: Path, case: str) -> None:
    change, said = FORGED[case]
    forge(directory, CAFES, change)
    assert said in reason(directory)


def test_towns_without_people_are_refused(directory: Path) -> None:
    for people in (0.0, np.nan, np.inf):
        forge(directory, "towns.safetensors", put("people", 0, people))
        assert "number of people" in reason(directory)


def test_a_forged_card_or_manifest_with_a_right_digest_is_refused(directory: Path) -> None:
    fine = (directory / "card.binpb").read_bytes()
    outside, titles, unknown = (pb.GetModelCardResponse.FromString(fine) for _ in range(3))
    outside.metric_space.region.north = 91.0
    titles.space.SetInParent()
    unknown.n_default = 5
    for card, said in (
        (outside, "south < north"),
        (titles, "a catalog of titles"),
        (unknown, "has unknown or missing fields"),
    ):
        sign(directory, "card.binpb", card.SerializeToString())
        assert said in reason(directory)
    fields = json.loads((directory / "manifest.json").read_text())
    for name, value in {"towns": 1, "schema_version": 1, "kind": "tastes"}.items():
        sign(directory, more={name: value})
        assert "cannot be read" in reason(directory)
        sign(directory, more={name: fields[name]})


def test_a_directory_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    for text in ('{"kind": "films"}', '{"kind": 1}', "[]", '{"a":' * 5000):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(ArtifactError):
            load_either(tmp_path)

"""Small matrices of ratings, as tables, as trained models and as directories to forge."""

from __future__ import annotations

import hashlib
import json
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load as decode
from safetensors.numpy import save as encode

from askew.errors import ArtifactError
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.cli import main as cli
from askew_server.ratings import ItemRow, RatingTable
from askew_server.taste import artifact
from askew_server.taste.model import ItemModel, train
from askew_server.taste.options import TrainingOptions

NAN = float("nan")
Run = Callable[..., int]

Fields = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


@pytest.fixture
def hooks() -> Iterator[None]:
    """Puts back what a log takes over."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    others = (sys.excepthook, threading.excepthook, sys.unraisablehook, warnings.showwarning)
    yield
    root.handlers[:], root.level = before
    sys.excepthook, threading.excepthook, sys.unraisablehook, warnings.showwarning = others


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, hooks: None) -> Run:  # a server takes them over
    """Runs the command in this process and gives its exit code."""

    def command(*arguments: object) -> int:
        monkeypatch.setattr(sys, "argv", ["askew-server", *map(str, arguments)])
        try:
            cli.main()
        except SystemExit as stop:
            return int(stop.code or 0)
        return 0

    return command


@pytest.fixture(scope="session")
def table_of() -> Callable[[NDArray[np.float64]], RatingTable]:
    """Makes the table of a matrix with a row for each person; NaN is no rating."""

    def make(matrix: NDArray[np.float64]) -> RatingTable:
        person, item = np.nonzero(~np.isnan(matrix))
        return RatingTable(
            person=person.astype(np.int64),
            item=item.astype(np.int64),
            rating=matrix[person, item],
            n_people=matrix.shape[0],
            item_keys=tuple(f"key {i}" for i in range(matrix.shape[1])),
        )

    return make


@pytest.fixture(scope="session")
def matrix() -> NDArray[np.float64]:
    """60 people of mixed tastes, 24 items, ratings of 1 to 5 in halves, a third of them missing."""
    rng = np.random.default_rng(20261121)
    tastes, kinds = rng.normal(size=(60, 3)), rng.normal(size=(24, 3))
    stars = 3 + tastes @ kinds.T + rng.normal(scale=0.3, size=(60, 24))
    ratings: NDArray[np.float64] = np.round(2 * np.clip(stars, 1, 5)) / 2
    ratings[rng.random(ratings.shape) < 1 / 3] = NAN
    return ratings


@pytest.fixture(scope="session")
def table(
    table_of: Callable[[NDArray[np.float64]], RatingTable], matrix: NDArray[np.float64]
) -> RatingTable:
    """The table of `matrix`."""
    return table_of(matrix)


@pytest.fixture(scope="session")
def rows() -> dict[str, ItemRow]:
    """What is known about the 24 items of `table`, of all but the last."""
    genres = ("Drama", "Comedy")
    return {f"key {i}": ItemRow(f"Film {i}", 1950 + i, genres[: i % 3]) for i in range(23)}


@pytest.fixture(scope="session")
def model(table: RatingTable, rows: dict[str, ItemRow]) -> ItemModel:
    """The model of `table`, in the plane."""
    options = TrainingOptions(dimension=2, min_ratings=5, least_likes=4)
    return train(table, rows, options, source="ratings of 60 people")


@pytest.fixture
def directory(tmp_path: Path, model: ItemModel) -> Path:
    """A model as it was saved."""
    artifact.save(model, tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture(scope="session")
def refusal() -> Callable[[Path], str]:
    """Says why a directory is not loaded; any other exception goes through to the test."""

    def reason(directory: Path) -> str:
        with pytest.raises(ArtifactError) as caught:
            artifact.load(directory)
        assert str(caught.value)
        return str(caught.value)

    return reason


@pytest.fixture(scope="session")
def forge() -> Callable[..., None]:
    """What somebody who can write a model's directory could do: see `forge_model`."""
    return forge_model


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def forge_model(
    directory: Path,
    *,
    arrays: Arrays | bytes | None = None,
    items: object = None,
    card: Callable[[pb.GetModelCardResponse], object] = lambda _: None,
    manifest: Mapping[str, object] | None = None,
    tables: Arrays | bytes | None = None,
    without: str | None = None,
) -> None:
    """Change a saved model and make every digest, and the catalog's version, fit the change.

    `manifest` maps dotted paths to values, and wins over what would fit. `without` names a field of
    the manifest to leave out.
    """
    fields: Fields = json.loads((directory / "manifest.json").read_bytes())
    if items is not None:
        rows = ",\n".join(map(json.dumps, items)) if isinstance(items, list) else items
        (directory / "items.json").write_text(f"[{rows}]")
    if isinstance(arrays, bytes):
        (directory / "arrays.safetensors").write_bytes(arrays)
    elif arrays is not None:
        (directory / "arrays.safetensors").write_bytes(encode(arrays))
        fields["shapes"] = {name: list(array.shape) for name, array in arrays.items()}
    if tables is not None:
        data = tables if isinstance(tables, bytes) else encode(tables)
        (directory / "tables.safetensors").write_bytes(data)
    message = pb.GetModelCardResponse.FromString((directory / "card.binpb").read_bytes())
    if not isinstance(arrays, bytes) and (version := catalog_version(directory)):
        message.catalog_version = bytes.fromhex(version)
    card(message)
    (directory / "card.binpb").write_bytes(message.SerializeToString())
    named = ("card.binpb", "arrays.safetensors", "items.json", "tables.safetensors")
    for name in [each for each in named if (directory / each).exists()]:
        data = (directory / name).read_bytes()
        fields["files"][name] = {"bytes": len(data), "sha256": digest(data)}
    for path, value in (manifest or {}).items():
        replace_field(fields, path, value)
    rest = {name: value for name, value in fields.items() if name not in ("sha256", without)}
    rest["sha256"] = digest(json.dumps(rest, sort_keys=True).encode())
    (directory / "manifest.json").write_text(json.dumps(rest))


def replace_field(fields: Fields, path: str, value: object) -> None:
    *way, name = path.split(".")
    for step in way:
        fields = fields[step]
    fields[name] = value


def catalog_version(directory: Path) -> str | None:
    """As the catalog's own, where these items and arrays have one at all."""
    items = json.loads((directory / "items.json").read_text())
    arrays = decode((directory / "arrays.safetensors").read_bytes())
    try:
        lines = "\n".join(repr((title, year, tuple(genres))) for _, title, year, genres in items)
        numbers = b"".join(arrays[name].astype("<f4").tobytes() for name in ("vectors", "boosts"))
        shared_slate = tuple(arrays["shared_slate"].tolist())
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    shape = repr(arrays["vectors"].shape).encode()
    return digest(shape + lines.encode() + numbers + repr(shared_slate).encode())[:32]

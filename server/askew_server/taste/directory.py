"""The files of a saved model: all of them or nothing, and none read before its size is checked.

A manifest signs itself: it is strict JSON, whose `sha256` is a digest of every other field.
Decoding is strict: no number for text, no fraction for a whole number, no NaN, no unknown field,
no depth beyond what is written here. Its digests find damage; against somebody who can write the
directory, keep the manifest's own digest elsewhere. The card beside it is the very bytes that
devices get, and is read as devices read it.

Arrays are by name in a safetensors file: their types and shapes are checked, nothing is executed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np
import safetensors
import safetensors.numpy
from msgspec import Meta
from numpy.typing import NDArray

from askew.dp.privacy import rational
from askew.errors import ArtifactError, WireError

MANIFEST, CARD = "manifest.json", "card.binpb"
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, Meta(ge=0)]
_UNSIGNED = "0" * 64


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No field more, no field less."""


class FileFields(Strict, frozen=True):
    """One file beside the manifest."""

    bytes: Count
    sha256: Sha256


class SignedManifest(Strict, frozen=True, kw_only=True):
    """A manifest: the files beside it, and the digest of all its fields."""

    files: dict[str, FileFields]
    sha256: Sha256 = _UNSIGNED

    def digest(self) -> str:
        """Return the SHA-256 of the JSON of all fields but `sha256`, sorted by name, as 64
        hexadecimal digits.
        """
        # Through the types once: 8 where a float belongs is 8.0 when it is read back.
        plain = msgspec.to_builtins(self, enc_hook=_text_of)
        again = msgspec.convert(plain, type(self), dec_hook=_rational_of)
        fields = msgspec.to_builtins(again, enc_hook=_text_of)
        del fields["sha256"]
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()

    def encoded(self) -> bytes:
        """Return the bytes of the manifest's file: JSON with `sha256` filled in, a field a line,
        indented by one space.
        """
        signed = msgspec.structs.replace(self, sha256=self.digest())
        return msgspec.json.format(msgspec.json.encode(signed, enc_hook=_text_of), indent=1)


def _text_of(value: object) -> str:
    if isinstance(value, Fraction):
        return str(value)
    raise NotImplementedError(type(value))


def _rational_of(kind: type, value: object) -> Fraction:
    if kind is Fraction and isinstance(value, str):
        return rational(value)
    raise msgspec.ValidationError(f"a number as text is wanted, not {value!r}"[:80])


_Manifest = TypeVar("_Manifest", bound=SignedManifest)


def kind_of(data: bytes) -> str:
    """Return the field `kind` of a manifest's bytes, such as "tastes", whatever the other fields
    are. Raises ArtifactError where this is no JSON object with a text of that name.
    """
    kind = _decoded(data, dict[str, Any]).get("kind")
    if not isinstance(kind, str):
        raise ArtifactError("the manifest cannot be read: it does not name its kind")
    return kind


def decode_manifest(data: bytes, manifest: type[_Manifest]) -> _Manifest:
    """Return the fields of a manifest's bytes. Raises ArtifactError unless its digest fits, and no
    field is missing, unknown or of another type.
    """
    fields = _decoded(data, manifest)
    if fields.sha256 != fields.digest():
        raise ArtifactError("the manifest was altered: its digest does not fit")
    read = msgspec.json.decode(msgspec.json.encode(fields, enc_hook=_text_of))
    if read != msgspec.json.decode(data):  # a dataclass of the core leaves out what it lacks
        raise ArtifactError("the manifest has unknown or missing fields")
    return fields


_Fields = TypeVar("_Fields")


def _decoded(data: bytes, fields: type[_Fields]) -> _Fields:
    try:
        return msgspec.json.decode(data, type=fields, dec_hook=_rational_of)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, WireError) as error:
        raise ArtifactError(f"the manifest cannot be read: {error}") from None


Arrays = dict[str, NDArray[Any]]
ArrayKind = tuple[np.dtype[Any], int]  # the type, and the number of dimensions
LIMIT = 1 << 32  # bytes of a file of arrays


def encode_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes of a safetensors file of these arrays, by their names."""
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return safetensors.numpy.save(whole)


def decode_arrays(
    name: str,
    data: bytes,
    kinds: Mapping[str, ArrayKind],
    optional: Mapping[str, ArrayKind] | None = None,
) -> Arrays:
    """Return the arrays of a safetensors file's bytes, by their names.

    kinds: by name a dtype and a number of dimensions. Raises ArtifactError, which begins with the
    file's `name`, unless there are all of `kinds`, any of `optional` and nothing else, each of its
    dtype and number of dimensions.
    """
    try:
        arrays = safetensors.numpy.load(data)
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ArtifactError(f"{name} is damaged: {error}") from None
    actual = {key: (array.dtype, array.ndim) for key, array in arrays.items()}
    if actual != {**kinds, **{key: k for key, k in (optional or {}).items() if key in actual}}:
        raise ArtifactError(f"{name} does not hold the arrays of a model")
    return arrays


MANIFEST_LIMIT, CARD_LIMIT = 1 << 20, 1 << 24  # bytes


def save(
    directory: Path, files: Mapping[str, bytes], copies: Mapping[str, Path] | None = None
) -> None:
    """Write a directory that does not exist yet: files, and copies of others, by their names in it,
    all or nothing; missing parents are made.

    Raises ArtifactError when something is already there, or cannot be written.
    """
    try:
        if os.path.lexists(directory):  # a dangling link counts: somebody meant something by it
            raise ArtifactError(f"{directory} already exists; name a new directory")
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent) as draft:
            inside = Path(draft) / "model"
            inside.mkdir()
            for name, data in files.items():
                write_durably(inside / name, data)
            for name, file in (copies or {}).items():
                with file.open("rb") as source, (inside / name).open("wb") as target:
                    shutil.copyfileobj(source, target)
                    target.flush()
                    os.fsync(target.fileno())
            inside.rename(directory)
    except OSError as error:
        raise ArtifactError(f"{directory} cannot be written: {error.strerror}") from None


def file_fields(data: bytes) -> FileFields:
    """Return the FileFields of this content: its length in `bytes` and its SHA-256."""
    return FileFields(len(data), hashlib.sha256(data).hexdigest())


def fields_of_file(file: Path) -> FileFields:
    """Return the FileFields of a file, its length in `bytes` and its SHA-256, read in parts. Raises
    ArtifactError where it cannot be read.
    """
    try:
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
            return FileFields(opened.tell(), digest)
    except OSError as error:
        raise ArtifactError(f"{file} cannot be read: {error.strerror}") from None


def read_checked(directory: Path, name: str, files: Mapping[str, FileFields], limit: int) -> bytes:
    """Return the content of the file `name` in a directory. Raises ArtifactError unless `files` of
    a manifest names it, it has at most `limit` bytes, and the length and digest that it has there;
    where the length differs, before anything is read.
    """
    path, named = directory / name, files.get(name)
    if named is not None and named.bytes == size_of(path, limit):
        data = read(path, limit)
        if file_fields(data) == named:
            return data
    raise ArtifactError(f"{path} is not the file that its manifest names")


def read(path: Path, limit: int) -> bytes:
    """Return the content of a file. Raises ArtifactError unless it is a regular file of at most
    `limit` bytes that can be read.
    """
    size_of(path, limit)
    try:
        return path.read_bytes()
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror}") from None


def size_of(path: Path, limit: int) -> int:
    """Return the size of a file in bytes. Raises ArtifactError unless it is a regular file of at
    most `limit` bytes.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(status.st_mode):  # a pipe would block, a device never end
        raise ArtifactError(f"{path} is no regular file")
    if status.st_size > limit:
        raise ArtifactError(f"{path} has {status.st_size} bytes, the limit is {limit}")
    return status.st_size


def write_durably(path: Path, data: bytes) -> None:
    """Write a file of this content through to the disk, over what is there. Raises OSError."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())

"""A noisy matrix of likes: paid in the operator's ledger, counted, drawn once, and kept in a file.

    ledger.charge      durable; BudgetExceeded ends it here, with no rating read
    count              on the operator's engine (`askew_server.counting.likes`)
    noise.perturb      with the kernel's randomness
    the file           whole on the disk, or not there
    ledger.fulfill     the digest of the file; only now may it be used

A crash after the charge loses that budget and nothing else: the same request is then refused until
the operator asks for it again, which is paid. The same request finds its file by the digest,
whatever became of the ratings, and is not paid again. What is made of the file is free.

The file is one line of JSON, which says what it is of, and the upper triangle of the matrix, row by
row, in 64-bit little-endian integers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from itertools import chain
from pathlib import Path

import msgspec
import numpy as np

from askew.errors import ArtifactError, DataError
from askew.mechanisms.covariance import Matrix, NoisyCovariance
from askew.noise.randomness import RandomBits
from askew_server.counting.contract import (
    MAX_ITEMS_OF_LIKES,
    LikesTask,
    digest_of,
    named_in_full,
    place_of,
)
from askew_server.ledger import Charge, ChargeRequest, Ledger, StoredRelease

NOISY = "noisy.bin"
"""The file of the matrix in a model's directory."""
KIND = "noisy matrix of likes"
_LONGEST = 4096  # bytes of the first line
LIMIT = _LONGEST + 4 * MAX_ITEMS_OF_LIKES * (MAX_ITEMS_OF_LIKES + 1)
"""The bytes of the largest file."""


class MatrixFields(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the first line of a file says. keys: SHA-256 of the catalog's keys."""

    kind: str
    items: int
    keys: str
    epsilon: str
    delta: str
    dataset: str
    charge: int


@dataclass(frozen=True)
class MatrixPlan:
    """What is counted, and with what noise: public, and printed before anything is read."""

    dataset: str
    version: str
    task: LikesTask
    noise: NoisyCovariance

    def charge_request(self, as_of: str | None = None, day: str | None = None) -> ChargeRequest:
        """Return the charge that pays for this matrix. Its digest, and its key, the digest in
        hexadecimal, are of data set, version, noise, `as_of` and all of the task but the names of
        its columns. as_of: the operator's word for the state of the ratings. day: today.
        """
        task = named_in_full(self.task) | {"keys": _digest_of_keys(self.task.keys)}
        for column in ("unit_column", "item_column", "rating_column"):
            del task[column]
        losses = {"epsilon": self.noise.epsilon, "delta": self.noise.delta, "as_of": as_of}
        digest = digest_of(kind=KIND, dataset=self.dataset, version=self.version, **task, **losses)
        return ChargeRequest(
            dataset=self.dataset,
            version=self.version,
            key=digest.hex(),
            digest=digest,
            loss=self.noise.privacy_loss(),
            place=place_of(self.task),
            day=day,
        )


def make_matrix(  # noqa: PLR0913 - what a paid matrix is made of
    plan: MatrixPlan,
    request: ChargeRequest,
    file: Path,
    *,
    ledger: Ledger,
    count: Callable[[LikesTask], Matrix],
    bits: RandomBits,
    report: Callable[[str], object] = lambda _: None,
) -> Matrix:
    """Return the noisy matrix of a request: charged, counted, drawn and written to the file now, or
    read from it where it was paid and made before. report: is called with "charging", "counting
    likes" and "noise" as these begin; of a matrix that is read, not at all.

    Raises what the ledger and the engine raise, and DataError where it was paid and made before and
    the file is another, or none, or where it is to be paid and a file is there already.
    """
    with ledger.lock(request):
        if ledger.preview(request) is None:
            if file.exists():
                raise DataError(
                    f"{file} is there, and is of another request: it was paid for, so move it"
                    " away, or ask as it was made"
                )
            report("charging")
        answer = ledger.charge(request)
        if isinstance(answer, Charge):
            report("counting likes")
            matrix = count(plan.task)
            report("noise")
            noisy = plan.noise.perturb(matrix, bits=bits)
            fields = MatrixFields(
                KIND,
                len(noisy),
                _digest_of_keys(plan.task.keys),
                str(plan.noise.epsilon),
                str(plan.noise.delta),
                plan.dataset,
                answer.id,
            )
            named = {"kind": KIND, "sha256": write_matrix(file, fields, noisy)}
            ledger.fulfill(answer.id, json.dumps(named).encode())
            return noisy
    return load_paid_matrix(answer, file)


def load_paid_matrix(stored: StoredRelease, file: Path) -> Matrix:
    """Return the noisy matrix of the file, which this stored charge paid for. Raises DataError
    where there is no file, or another matrix in it, and ArtifactError where it is no noisy matrix
    as `make_matrix` writes one.
    """
    if not file.exists():
        raise DataError(
            f"charge {stored.id} paid for this matrix before, and it is not paid twice: copy"
            f" {NOISY} of the model that has it to {file}, and ask again; --as-of or --again"
            " makes another, which is paid"
        )
    _, noisy, digest = read_matrix(file)
    if digest != str(json.loads(stored.payload)["sha256"]):
        raise DataError(f"{file}: it is not the noisy matrix that charge {stored.id} paid for")
    return noisy


def _digest_of_keys(keys: tuple[str, ...]) -> str:
    return sha256(json.dumps(keys).encode()).hexdigest()


def write_matrix(file: Path, fields: MatrixFields, noisy: Matrix) -> str:
    """Write the file, all of it or nothing, through to the disk, in place of one that is there;
    only its owner can read it. Returns the SHA-256 of its bytes, as 64 hexadecimal digits.

    Raises ArtifactError where it cannot be written.
    """
    digest, draft = sha256(), file.with_name(f"{file.name}.draft")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as written:
            draft.chmod(0o600)
            rows = (row[place:].astype("<i8").tobytes() for place, row in enumerate(noisy))
            for part in chain([msgspec.json.encode(fields) + b"\n"], rows):
                digest.update(part)
                written.write(part)
            written.flush()
            os.fsync(written.fileno())
        draft.replace(file)
        descriptor = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ArtifactError(f"{file} cannot be written: {error.strerror}") from None
    return digest.hexdigest()


def read_matrix(file: Path) -> tuple[MatrixFields, Matrix, str]:
    """Return the MatrixFields of the first line of a file of a noisy matrix, the whole symmetric
    matrix (n, n) of int64, and the SHA-256 of the file's bytes, as 64 hexadecimal digits.

    Raises ArtifactError for a file that is none, of another size than its first line says, or
    larger than any.
    """
    try:
        with file.open("rb") as opened:
            line = opened.readline(_LONGEST)
            fields = msgspec.json.decode(line, type=MatrixFields)
            items = fields.items
            if fields.kind != KIND or not 0 < items <= MAX_ITEMS_OF_LIKES:
                raise ArtifactError(f"{file} is no noisy matrix that this program reads")
            if os.fstat(opened.fileno()).st_size != len(line) + 4 * items * (items + 1):
                raise ArtifactError(f"{file} does not have the size of {items} items")
            digest, noisy = sha256(line), np.empty((items, items), np.int64)
            for place in range(items):
                part = opened.read(8 * (items - place))
                digest.update(part)
                noisy[place, place:] = np.frombuffer(part, "<i8")
                noisy[place:, place] = noisy[place, place:]
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ArtifactError(f"{file} is no noisy matrix: {error}") from None
    return fields, noisy, digest.hexdigest()


def budget_left(ledger: Ledger, dataset: str, noise: NoisyCovariance) -> tuple[Fraction, int]:
    """Return the epsilon of a data set's cap that is not spent, and how many matrices of this noise
    its epsilon and delta still pay for, rounded down. Raises LedgerError for no such data set.
    """
    data = ledger.dataset(dataset)
    cap, spent = data.cap, data.spent
    left, delta = cap.epsilon - spent.epsilon, cap.delta - spent.delta
    return left, max(0, int(min(left / noise.epsilon, delta / noise.delta)))

"""The parts of a study, and what each found, kept on disk until the whole is there.

A part is one truth at one seed, without signals, at one epsilon, at all signal dimensions, or as
others publish their mechanisms. What it finds depends on no other part, so a study that was stopped
goes on with the parts that are left.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from askew import __version__
from askew.errors import DataError
from askew.rule_kind import RuleKind
from askew_server.evaluation.cells import Label, Run
from askew_server.evaluation.guarantee import Guarantee
from askew_server.evaluation.leak import Leak
from askew_server.evaluation.truths import TruthName
from askew_server.ratings import RatingTable
from askew_server.training.quality import Estimate, Outcome

_IDENTITY, _TEXT = "study.sha256", "text"
_ARRAYS = ("picked", "possible", "single", "none", "naive")
_NUMBERS = ("n_items", "size", "bound")
_GOT = tuple(each.name for each in fields(Outcome))


@dataclass(frozen=True)
class Part:
    """epsilon: plain; None without signals, where all dimensions are tried, and as published."""

    seed: int
    truth: TruthName
    epsilon: float | None = None
    dimensions: bool = False
    published: bool = False

    @property
    def doing(self) -> str:
        """In words."""
        if self.dimensions:
            return f"seed {self.seed}, {self.truth}: signal dimensions"
        if self.published:
            return f"seed {self.seed}, {self.truth}: as published"
        if self.epsilon is None:
            return f"seed {self.seed}, {self.truth}: no signal"
        return f"seed {self.seed}, {self.truth}, epsilon {self.epsilon:g}"


@dataclass(frozen=True)
class Findings:
    """What one part found, in the order in which it was found."""

    runs: Sequence[tuple[Label, Run]] = field(repr=False)
    leaks: Sequence[Leak] = ()


class Keeper(Protocol):
    """Where findings outlive the process."""

    def found(self, part: Part) -> Findings | None:
        """What this part found earlier, or None."""

    def keep(self, part: Part, findings: Findings) -> None:
        """Keep them for good."""


class NothingKept:
    """For a study that is made in one go."""

    def found(self, part: Part) -> Findings | None:
        """Nothing."""
        del part
        return None

    def keep(self, part: Part, findings: Findings) -> None:
        """Not kept."""


class KeptParts:
    """A folder with a file for each part. identity: of everything that the findings depend on.

    Raises DataError where the folder has parts of another study.
    """

    def __init__(self, folder: Path, identity: str) -> None:
        self._folder = folder
        mark = folder / _IDENTITY
        if mark.is_file() and mark.read_text(encoding="utf-8") != identity:
            raise DataError(
                f"{folder} has what was found with other ratings or options before it was "
                "stopped; name another --out, or remove it"
            )
        folder.mkdir(parents=True, exist_ok=True)
        mark.write_text(identity, encoding="utf-8")

    def found(self, part: Part) -> Findings | None:
        """What is there of this part; None also for a file that is cut short."""
        try:
            return _unpacked(self._file(part))
        except (OSError, ValueError, KeyError, SafetensorError):
            return None

    def keep(self, part: Part, findings: Findings) -> None:
        """Whole or not at all."""
        file = self._file(part)
        draft = file.with_suffix(".part")
        draft.write_bytes(_packed(findings))
        draft.replace(file)

    def remove(self) -> None:
        """When the study is whole."""
        shutil.rmtree(self._folder)

    def _file(self, part: Part) -> Path:
        step = "published" if part.published else f"{part.epsilon}"
        step = "dimensions" if part.dimensions else step
        return self._folder / f"{part.seed}-{part.truth}-{step}.safetensors"


def identity_of(table: RatingTable, protocol: object) -> str:
    """A digest of the ratings, the protocol and the version of this program."""
    digest = hashlib.sha256(f"{__version__} {protocol!r} {table.item_keys!r}".encode())
    times = () if table.time is None else (table.time,)
    for column in (table.person, table.item, table.rating, *times):
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


def _packed(findings: Findings) -> bytes:
    """Every different array once: people's possible scores are the same in all runs."""
    arrays: dict[tuple[str, bytes], tuple[str, NDArray[Any]]] = {}

    def name_of(array: NDArray[Any] | None) -> str | None:
        if array is None:
            return None
        name, _ = arrays.setdefault((array.dtype.str, array.tobytes()), (f"a{len(arrays)}", array))
        return name

    runs = [
        {
            "label": asdict(label),
            "guarantee": asdict(run.guarantee),
            "numbers": {name: getattr(run, name) for name in _NUMBERS},
            "got": {name: name_of(getattr(run.got, name)) for name in _GOT},
            **{name: name_of(getattr(run, name)) for name in _ARRAYS},
        }
        for label, run in findings.runs
    ]
    text = json.dumps({"runs": runs, "leaks": [asdict(leak) for leak in findings.leaks]})
    named = {name: np.ascontiguousarray(array) for name, array in arrays.values()}
    return save(named | {_TEXT: np.frombuffer(text.encode(), dtype=np.uint8)})


def _unpacked(path: Path) -> Findings:
    arrays = load(path.read_bytes())
    told = json.loads(arrays[_TEXT].tobytes())
    return Findings(
        [(_label(run.pop("label")), _run(run, arrays)) for run in told["runs"]],
        [_leak(each) for each in told["leaks"]],
    )


def _label(told: dict[str, Any]) -> Label:
    return Label(**told | {"rule": RuleKind(told["rule"])})


def _run(told: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Run:
    named = {name: arrays[told[name]] if told[name] else None for name in _ARRAYS}
    return Run(
        got=Outcome(**{name: arrays[told["got"][name]] for name in _GOT}),
        guarantee=Guarantee(**told["guarantee"]),
        **told["numbers"],
        **named,  # type: ignore[arg-type]  # only naive may be None, and is in no other place
    )


def _leak(told: dict[str, Any]) -> Leak:
    estimates = ("present", "removed", "difference")
    return Leak(**told | {name: Estimate(**told[name]) for name in estimates})

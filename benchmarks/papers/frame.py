"""What the papers share: count vectors, curves, tables, and the pages that quote them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Style = Literal["-", "--", ":", "o"]


@dataclass(frozen=True)
class Data:
    """Count vectors by name, each in a shape of the papers or read from a file."""

    counts: Mapping[str, Counts]

    def named(self, *names: str) -> dict[str, Counts]:
        """Return those of these names that are here."""
        return {name: self.counts[name] for name in names if name in self.counts}


def read_counts(folder: Path) -> dict[str, Counts]:
    """Read each `NAME.npy` or `NAME.nD.npy` of a folder: a vector of whole counts, an item each."""
    found = {}
    for path in sorted(folder.glob("*.npy")):
        values = np.load(path, allow_pickle=False)
        found[path.name.split(".")[0].lower()] = np.rint(values).astype(np.int64)
    return found


def zipf(items: int, total: float, exponent: float) -> Counts:
    """Return Zipf's law in falling order: count i ~ i**-exponent, all counts together `total`."""
    weights = np.arange(1, items + 1, dtype=np.float64) ** -exponent
    counts: Counts = np.rint(total * weights / weights.sum()).astype(np.int64)
    return counts


@dataclass(frozen=True)
class Line:
    """A curve, or points."""

    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    style: Style = "-"


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Reproduction:
    """What came out for one paper. Tables: rows of cells, the first one the head."""

    tables: Mapping[str, list[list[str]]]
    pictures: Mapping[str, list[Panel]]
    data: list[str]
    seeds: list[int] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return it with numbers of five digits: pictures and tables need no more."""
        rounded: dict[str, Any] = _rounded(asdict(self))
        return rounded


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    return float(f"{float(value):.5g}") if isinstance(value, float | np.floating) else value


def panels_of(found: Mapping[str, Any]) -> dict[str, list[Panel]]:
    """Return the pictures of a `Reproduction` that was kept as json."""
    return {
        name: [
            Panel(**{**panel, "lines": [Line(**line) for line in panel["lines"]]})
            for panel in panels
        ]
        for name, panels in found["pictures"].items()
    }


def blocks_of(found: Mapping[str, Any]) -> dict[str, str]:
    """Return each table as markdown; `run`: with what, from which commit; each picture."""
    run = (
        f"Data: {', '.join(found['data'])}. "
        f"Seeds: {', '.join(map(str, found['seeds'])) or 'none, nothing is drawn'}. "
        f"Commit {found['commit']}.\n"
    )
    pictures = {
        name: f"\n![{name.replace('-', ' ')}]({name}.svg)\n\n" for name in found["pictures"]
    }
    tables = {name: _table(rows) for name, rows in found["tables"].items()}
    return {"run": run} | pictures | tables


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(["", lines[0], "|---" * len(rows[0]) + "|", *lines[1:], "", ""])


def short(value: float) -> str:
    """Return four digits of it."""
    return f"{value:.4g}"

"""Rows of a file that were left out, by reason: how many, and the first of them."""

from __future__ import annotations

from dataclasses import dataclass

SHOWN = 3


@dataclass(frozen=True)
class Omitted:
    """Rows that were left out for one reason. first: the numbers of the first ones."""

    reason: str
    count: int
    first: tuple[int, ...]


@dataclass(frozen=True)
class Omissions:
    """All that was left out of a file. unit: what a number counts."""

    file: str
    unit: str
    rows: tuple[Omitted, ...] = ()

    @property
    def count(self) -> int:
        """How many rows."""
        return sum(each.count for each in self.rows)

    @property
    def lines(self) -> tuple[str, ...]:
        """A line for each reason, for an operator."""
        said = []
        for each in self.rows:
            numbers = ", ".join(map(str, each.first)) + (", ..." if each.count > SHOWN else "")
            plural = "s" if each.count > 1 else ""
            said.append(f"{each.count:,}: {each.reason} ({self.unit}{plural} {numbers})")
        return tuple(said)

"""What a look at a configuration finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: in order, worth a look, or wrong. text: one line."""

    health: Literal["ok", "warn", "fail"]
    name: str
    text: str

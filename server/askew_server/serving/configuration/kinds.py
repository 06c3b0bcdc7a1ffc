"""What a setting may be: how its text becomes a value, and which values a file may hold.

A flag and a variable of the environment are text; a file says a number as a number. Whatever the
source, the same values are refused, and the words of a kind say what would have been accepted.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

_LARGEST = 1_000_000_000  # gRPC takes twice as many


class Kind(Protocol):
    """A type of settings with its limit."""

    @property
    def words(self) -> str:
        """What is accepted, after "must be"."""

    def of_text(self, text: str) -> object:
        """The value that a text names. Raises ValueError."""

    def checked(self, value: object) -> object:
        """A value of a file, or one that was parsed. Raises ValueError."""


@dataclass(frozen=True)
class Whole:
    """A whole number."""

    least: int
    most: int = _LARGEST

    @property
    def words(self) -> str:
        """With both ends."""
        return f"a whole number from {self.least} to {self.most}"

    def of_text(self, text: str) -> int:
        """Digits, and nothing else that Python would take."""
        if not (text.isascii() and text.removeprefix("-").isdigit()):
            raise ValueError
        return self.checked(int(text))

    def checked(self, value: object) -> int:
        """No bool, which is a number to Python."""
        if type(value) is not int or not self.least <= value <= self.most:
            raise ValueError
        return value


@dataclass(frozen=True)
class Number:
    """A number that need not be whole."""

    least: float
    most: float

    @property
    def words(self) -> str:
        """With both ends."""
        return f"a number from {self.least:g} to {self.most:g}"

    def of_text(self, text: str) -> float:
        """As Python reads it."""
        return self.checked(float(text))

    def checked(self, value: object) -> float:
        """Written so that NaN is refused too."""
        if type(value) not in {int, float} or not self.least <= value <= self.most:  # type: ignore[operator]
            raise ValueError
        return float(value)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Text:
    """Any text on one line but none."""

    words: str = "a text"

    def of_text(self, text: str) -> str:
        """As it is."""
        return self.checked(text)

    def checked(self, value: object) -> str:
        """Without controls."""
        if not isinstance(value, str) or not value or not value.isprintable():
            raise ValueError
        return value


@dataclass(frozen=True)
class File:
    """The path of a file or a directory, which need not be there."""

    words: str = "a path"

    def of_text(self, text: str) -> Path:
        """From the working directory."""
        return self.checked(text)

    def checked(self, value: object) -> Path:
        """Text, or what it became."""
        if isinstance(value, Path):
            return value
        if not isinstance(value, str) or not value or "\0" in value:
            raise ValueError
        return Path(value)


@dataclass(frozen=True)
class Choice:
    """One of a few words."""

    names: tuple[str, ...]

    @property
    def words(self) -> str:
        """All of them."""
        return f"one of {', '.join(self.names)}"

    def of_text(self, text: str) -> str:
        """One of them."""
        return self.checked(text)

    def checked(self, value: object) -> str:
        """One of them."""
        if not isinstance(value, str) or value not in self.names:
            raise ValueError
        return value


@dataclass(frozen=True)
class Switch:
    """Yes or no."""

    words: str = "true or false"

    def of_text(self, text: str) -> bool:
        """As TOML writes it."""
        if text.lower() not in {"true", "false"}:
            raise ValueError
        return text.lower() == "true"

    def checked(self, value: object) -> bool:
        """No number, which would be true to Python."""
        if not isinstance(value, bool):
            raise ValueError
        return value


@dataclass(frozen=True)
class Network:
    """An address, or a network of them: 10.0.0.7, 10.0.0.0/8, fd00::/8."""

    words: str = "an IP address or network, such as 10.0.0.7 or 10.0.0.0/8"

    def of_text(self, text: str) -> str:
        """As it is written."""
        return self.checked(text)

    def checked(self, value: object) -> str:
        """With no bits beyond the network's."""
        ipaddress.ip_network(value if isinstance(value, str) else "")
        return str(value)

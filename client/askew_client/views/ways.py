"""The way that a device is served, ready to show."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TakenWay:
    """The way taken: whole, shared or signal. Public: by settings, the card and the bytes held.

    reason: what is done, and why. notes: what the server proposes instead, and what that
    would cost. consent: the setting that would be the person's consent to it, or "".
    """

    name: str
    reason: str
    notes: tuple[str, ...] = ()
    consent: str = ""

    @property
    def asks(self) -> bool:
        """Whether a signal is sent."""
        return self.name == "signal"

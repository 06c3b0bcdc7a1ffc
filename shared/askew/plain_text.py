"""Text that people are shown: short, and plain, since control characters steer terminals."""

from __future__ import annotations

from askew.errors import OutOfRange

MAX_TEXT = 500


def check_text(name: str, text: str, longest: int = MAX_TEXT) -> None:
    """Raises OutOfRange unless it is printable and of 1 to `longest` characters."""
    if not (0 < len(text) <= longest and text.isprintable()):
        raise OutOfRange(name, f"printable text of 1 to {longest} characters")

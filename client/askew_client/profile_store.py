"""The person's ratings and past answers, kept on this device in one file of mode 0600."""

from __future__ import annotations

from pathlib import Path


class ProfileStore:
    """The profile of one person."""

    def __init__(self, path: Path) -> None:
        self._path = path

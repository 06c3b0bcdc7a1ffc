"""Where the device keeps its files."""

from __future__ import annotations

from pathlib import Path

import platformdirs


def data_directory() -> Path:
    """The platform's directory for this program's private data."""
    return Path(platformdirs.user_data_dir("askew", appauthor=False))


def ledger_file(directory: Path) -> Path:
    """The store of signals and charges."""
    return directory / "signals.sqlite"

"""Where the device keeps its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import platformdirs


@dataclass(frozen=True)
class Places:
    """The files of one person: profile, ledger, and the ledger's anchor in another directory."""

    profile: Path
    ledger: Path
    anchor: Path


def places(directory: Path | None) -> Places:
    """The files in a directory, or (None) in the platform's own places for data and for state."""
    data = directory or data_directory()
    state = directory or Path(platformdirs.user_state_dir("askew", appauthor=False))
    return Places(data / "profile.sqlite", ledger_file(data), state / "anchor" / "signals.json")


def data_directory() -> Path:
    """The platform's directory for this program's private data."""
    return Path(platformdirs.user_data_dir("askew", appauthor=False))


def config_file() -> Path:
    """The person's configuration."""
    return Path(platformdirs.user_config_dir("askew", appauthor=False)) / "config.toml"


def ledger_file(directory: Path) -> Path:
    """The store of signals and charges."""
    return directory / "signals.sqlite"

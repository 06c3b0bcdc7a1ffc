"""What a server answers from: models, stored releases, and a log for analysts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from askew.errors import ConfigError

_ONE = "name one model to serve: --model DIR, --models FOLDER or --demo"


@dataclass(frozen=True, kw_only=True)
class Models:
    """Directories of models, each with its Monday if it has one ("new@2026-11-23"); or a folder of
    directories that are named by their Mondays; or a demo. Raises ConfigError for two of them.
    """

    directories: tuple[str, ...] = ()
    folder: Path | None = None
    demo: Literal["films", "places"] | None = None

    def __post_init__(self) -> None:
        if self._ways() > 1:
            raise ConfigError(_ONE)

    def require(self) -> None:
        """Raises ConfigError where there is none."""
        if not self._ways():
            raise ConfigError(_ONE)

    def _ways(self) -> int:
        return [bool(self.directories), self.folder is not None, self.demo is not None].count(True)


@dataclass(frozen=True, kw_only=True)
class Releases:
    """The ledger whose stored releases are served, and its anchor; popularity: the charge of the
    one that orders a cold start. Raises ConfigError for a charge without a ledger.
    """

    ledger: Path | None = None
    anchor: Path | None = None
    popularity: int | None = None

    def __post_init__(self) -> None:
        if self.popularity is not None and self.ledger is None:
            raise ConfigError("--popularity names a release of the ledger in --releases")


@dataclass(frozen=True, kw_only=True)
class Analysts:
    """Whose tokens are believed (token_key), what may be asked about, and what counts it.

    Raises ConfigError where only a part of that is said.
    """

    token_key: Path | None = None
    dataset: str | None = None
    events: str | None = None
    unit_column: str = "unit"
    item_column: str = "item"
    max_items_per_unit: int = 100
    requests_per_minute: int = 60
    engine: str = field(default="duckdb:", repr=False)  # may hold a password
    memory_limit: str | None = None
    temp_directory: Path | None = None
    multi_line: bool = False
    bounding_key: Path | None = None

    def __post_init__(self) -> None:
        if self.token_key is not None and None in {self.dataset, self.events}:
            raise ConfigError("analysts need --dataset and --events")
        if self.token_key is None and (self.dataset or self.events):
            raise ConfigError("--dataset and --events are for analysts: name their --token-key")

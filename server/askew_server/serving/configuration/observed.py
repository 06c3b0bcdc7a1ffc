"""What an operator sees of a server: where its numbers are read, and how its lines look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from askew.errors import ParameterError

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """Where numbers are read, in plain text. port: 0 takes a free one, None serves none.

    Raises ParameterError for a port out of range.
    """

    host: str = "127.0.0.1"
    port: int | None = None

    def __post_init__(self) -> None:
        if self.port is not None and not 0 <= self.port <= 65535:
            raise ParameterError("metrics.port", self.port, "from 0 to 65535")


@dataclass(frozen=True, kw_only=True)
class Log:
    """How lines of the log are written, and the least of them that is. process: which of several
    on a port writes them.
    """

    format: LogFormat = "text"
    level: LogLevel = "info"
    process: int | None = None

"""What a request for events is known by: the operator's words, and nothing that the events hold."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from askew_server.counting.contract import EventSource
from askew_server.counting.engines.driver import is_file


def digest_of(**public: object) -> bytes:
    """Return the SHA-256, 32 bytes, of public values and their names, in whatever order they are
    given.
    """
    return hashlib.sha256(json.dumps(public, sort_keys=True, default=str).encode()).digest()


def named_in_full(source: EventSource) -> dict[str, object]:
    """Return every field of a source by its name, files by their absolute paths. Links are not
    followed: where they lead may depend on how a log grows.
    """
    named = {"events": source.events, "catalog": source.catalog}
    files = {name: file for name, file in named.items() if file and _is_file(source, file)}
    return {**vars(source), **{name: str(Path(file).absolute()) for name, file in files.items()}}


def _is_file(source: EventSource, name: str) -> bool:
    # Also where the file is gone: DuckDB without a database has no tables.
    return source.engine == "duckdb:" or is_file(name)


def place_of(source: EventSource) -> bytes:
    """Return the SHA-256, 32 bytes, of where the events are: the same for a file by any name, link
    or engine, and for a table of an engine in large or small letters.
    """
    if _is_file(source, source.events):
        return digest_of(file=str(Path(source.events).resolve()))
    return digest_of(engine=source.engine, table=source.events.casefold())

"""Acts that arrive while another is under way, and what the anchor has of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Semaphore
from typing import Any

from server.ledger.scenes import files

from askew_server.ledger import ChargeRequest, Ledger
from askew_server.ledger.anchor import AnchorEntry, AnchorFile

PATIENCE = 30  # seconds; only ever waited for by what does not do what it should


class Seats(list[Any]):
    """Whoever arrives is counted."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived = Semaphore(0)

    def append(self, act: Any) -> None:
        super().append(act)
        self.arrived.release()


@contextmanager
def together(ledger: Ledger, wanted: list[ChargeRequest]) -> Iterator[list[Future[Any]]]:
    """The futures of these charges, which all arrive while an act before them is under way."""
    begun, go, store = Event(), Event(), ledger._store

    def slow(_: sqlite3.Connection) -> str:
        begun.set()
        assert go.wait(PATIENCE)
        return "nothing to do"

    with ThreadPoolExecutor(len(wanted) + 1) as pool:
        first = pool.submit(store.append, slow, lambda *_: "")
        assert begun.wait(PATIENCE)
        seats = store._waiting = Seats()
        futures = []
        for each in wanted:
            futures.append(pool.submit(ledger.charge, each))
            assert seats.arrived.acquire(timeout=PATIENCE)
        go.set()
        first.result(PATIENCE)
        yield futures


def kept(folder: Path) -> list[AnchorEntry]:
    marks, fault = AnchorFile(files(folder)[1]).lines()
    assert fault is None
    return marks

"""What `askew-server serve` does: models and releases of a configuration to services that run."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from askew_server.cli.options import existing
from askew_server.serving.configuration.server import Configuration

if TYPE_CHECKING:
    from askew_server.cli.served_models import Reading
    from askew_server.published.reader import ReleaseReader
    from askew_server.retrieval.snapshot import SnapshotHolder
    from askew_server.serving.running.models import Models
    from askew_server.serving.services.call import Service


def run(chosen: Configuration, *, with_parent: bool, child: int | None = None) -> None:
    """Serve what was chosen, until it is stopped. child: its number, where it is one of several."""
    for number in (signal.SIGHUP, signal.SIGUSR1):  # until there is something that they are for
        signal.signal(number, signal.SIG_IGN)
    if child is not None:
        chosen, with_parent = replace(chosen, server=chosen.server.as_child(child)), True
    elif chosen.server.processes > 1:
        from askew_server.serving.running.several import Several

        Several.of_config(chosen.server, sys.argv[1:], with_parent=with_parent).become()
    from askew_server.cli.served_models import models_of, warn_of_silence
    from askew_server.retrieval.snapshot import SnapshotHolder
    from askew_server.serving.running.supervisor import BEAT

    reader = _reader(chosen)
    charge = chosen.releases.popularity
    popular = None if reader is None or charge is None else (reader, charge)
    models, reading = models_of(chosen.models, popular)
    holder = SnapshotHolder(*(serving.snapshot for serving in models.servings.values()))
    warn_of_silence(holder)
    beat = None if child is None else BEAT
    asyncio.run(_serve(chosen, (models, holder, reading), reader, with_parent, beat))


async def _serve(
    chosen: Configuration,
    read: tuple[Models, SnapshotHolder, Reading],
    reader: ReleaseReader | None,
    with_parent: bool,
    beat: float | None,
) -> None:
    from askew_server.serving.observing.event_log import write_line
    from askew_server.serving.running.models import ModelWatch
    from askew_server.serving.running.process import observer_of, serve
    from askew_server.serving.services.popularity import PopularityService
    from askew_server.serving.services.retrieval import RetrievalService
    from askew_server.taste.model.mondays import today

    models, holder, reading = read
    observer = observer_of(chosen.server)
    retrieval = RetrievalService(holder)
    observer.serves(lambda: holder.current.since, time.time(), retrieval.catalogs)
    services: list[Service] = [] if reader is None else [PopularityService(reader)]
    watch = ModelWatch(models, holder, retrieval.make_ready, observer, today)

    def announce(bound: int) -> None:
        words = f"listening on {chosen.server.host}:{bound}, {reading.in_words()}"
        write_line(sys.stdout, words)

    await serve(
        [*services, retrieval],
        chosen.server,
        announce,
        with_parent=with_parent,
        beat=beat,
        beside=watch.run,
        observer=observer,
    )


def _reader(chosen: Configuration) -> ReleaseReader | None:
    if chosen.releases.ledger is None:
        return None
    from askew_server.published.reader import ReleaseReader

    return ReleaseReader(existing(chosen.releases.ledger))

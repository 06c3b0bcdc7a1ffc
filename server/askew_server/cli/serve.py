"""`askew-server serve`: answers to noisy signals, and stored releases beside them."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew.catalog.catalog_file import FIRST
from askew.errors import ArtifactError
from askew_server.cli.configured import CommandSettings
from askew_server.cli.options import SERVE_PORT, existing
from askew_server.cli.saved_model import of_one_kind, of_tastes
from askew_server.serving.event_log import write_line
from askew_server.serving.settings import Configuration
from askew_server.serving.settings import Models as Chosen
from askew_server.taste.model.mondays import dated, text_of_date, today, versions_in

if TYPE_CHECKING:
    from askew_server.cli.saved_model import Model
    from askew_server.published.reader import ReleaseReader
    from askew_server.retrieval.snapshot import Serving, SnapshotHolder
    from askew_server.serving.call import Service
    from askew_server.serving.models import ServedModels
    from askew_server.taste.model.item_model import ItemModel


_SETTINGS = CommandSettings(
    "models",
    "releases.ledger",
    "releases.popularity",
    "server",
    "tls",
    "http",
    "metrics",
    "log",
    "limits",
    "answers",
    defaults={"server.port": SERVE_PORT},
)


@click.command()
@_SETTINGS.options
def serve(*, config: Path | None, **flags: object) -> None:
    """Answer noisy signals until SIGTERM or Ctrl-C.

    With --ledger, the stored releases of a ledger are served beside, read-only; with
    --popularity, one of them orders what a device shows before it knows anything.

    With several models, a device is answered from the one that was in force on the Monday that it
    last looked. An old one is answered for a week and two days after the next came.

    New models in the folder of --models are read, checked and swapped in within seconds, at once on
    SIGHUP; so are live values, and changes that no device holds. What cannot be used leaves what is
    served. With --processes, SIGUSR1 replaces one process after the other.

    The next port speaks HTTP: files that devices hold, and calls without gRPC.

    Devices speak TLS to every machine but their own: name --tls-certificate and --tls-key, or put a
    TLS proxy in front and say --plain-text. `askew-server check` looks before.

    \b
    Examples:
      askew-server serve --model model
      askew-server serve --demo places
      askew-server serve --model old --model new@2026-11-23
      askew-server serve --models models --processes 2
      askew-server serve --model model --host 0.0.0.0 \\
        --tls-certificate server.pem --tls-key server.key
      askew-server serve --config askew-server.toml
    """
    chosen = _SETTINGS.configuration(config, flags)
    chosen.models.require()
    run(chosen)


def run(chosen: Configuration) -> None:
    """Serve what was chosen, until it is stopped."""
    for number in (signal.SIGHUP, signal.SIGUSR1):  # until there is something that they are for
        signal.signal(number, signal.SIG_IGN)
    import asyncio

    from askew_server.retrieval.snapshot import SnapshotHolder
    from askew_server.serving.supervisor import Several, process_number

    child = process_number()
    if child is not None:
        chosen = replace(chosen, server=chosen.server.as_child(child))
    elif chosen.server.processes > 1:
        Several.of_config(chosen.server, sys.argv[1:]).become()

    reader = _reader(chosen)
    charge = chosen.releases.popularity
    popular = None if reader is None or charge is None else (reader, charge)
    models, reading = models_of(chosen.models, popular)
    holder = SnapshotHolder(*(serving.snapshot for serving in models.servings.values()))
    warn_of_silence(holder)
    asyncio.run(_serve(chosen, (models, holder, reading), reader))


async def _serve(
    chosen: Configuration,
    read: tuple[ServedModels, SnapshotHolder, ModelReader],
    reader: ReleaseReader | None,
) -> None:
    from askew_server.serving.models import ModelWatch
    from askew_server.serving.popularity import PopularityService
    from askew_server.serving.process import observer_of, serve
    from askew_server.serving.retrieval import RetrievalService

    models, holder, reading = read
    observer = observer_of(chosen.server)
    retrieval = RetrievalService(holder)
    observer.serves(lambda: holder.current.since, time.time(), retrieval.catalogs)
    services: list[Service] = [] if reader is None else [PopularityService(reader)]
    watch = ModelWatch(models, holder, retrieval.make_ready, observer, today)

    def announce(bound: int, http: int | None) -> None:
        host, scheme = chosen.server.host, "https" if chosen.server.tls else "http"
        door = "" if http is None else f"{scheme}://{host}:{http}, "
        write_line(sys.stdout, f"listening on {host}:{bound}, {door}{reading.in_words()}")

    await serve(
        [*services, retrieval],
        chosen.server,
        announce,
        beside=watch.run,
        observer=observer,
    )


def _reader(chosen: Configuration) -> ReleaseReader | None:
    if chosen.releases.ledger is None:
        return None
    from askew_server.published.reader import ReleaseReader

    return ReleaseReader(existing(chosen.releases.ledger))


Find = Callable[[], Mapping[int, Path]]


def models_of(
    chosen: Chosen, popular: tuple[ReleaseReader, int] | None
) -> tuple[ServedModels, ModelReader]:
    """What was chosen, read, and how. Raises ArtifactError and ParameterError."""
    from askew_server.serving.models import ServedModels

    if chosen.demo is not None:
        reading = ModelReader(popular)
        made = reading.model(_demo(chosen.demo))
        return ServedModels(dict, lambda *_: made, today, {FIRST: made}), reading
    find = in_folder(chosen.folder) if chosen.folder is not None else named(chosen.directories)
    reading = ModelReader.of(find, popular)
    return ServedModels(find, reading.directory, today), reading


def named(models: Sequence[str]) -> Find:
    """Directories with their Mondays. Raises ParameterError and ArtifactError for two of one."""
    found: dict[int, Path] = {}
    for directory, day in map(dated, models):
        if day in found:
            when = "always" if day == FIRST else f"from {text_of_date(day)} on"
            raise ArtifactError(
                f"a server answers from one model at a time, and {found[day]} and {directory} are "
                f"both in force {when}: name a version by its Monday ({directory}@2026-11-30), and "
                "serve another model, as places beside tastes, by a server of its own"
            )
        found[day] = directory
    return lambda: found


def in_folder(folder: Path) -> Find:
    """The directories in a folder, named by their Mondays, as they are when they are looked for."""
    return lambda: versions_in(folder)


def _demo(name: str) -> Model:
    if name == "places":
        from askew_server.demo.places import places_model

        return places_model()
    from askew_server.demo.simulation import demo_model

    return demo_model()


@dataclass(frozen=True)
class ModelReader:
    """How each model is read. popular: the release that orders a cold start. words: what was read,
    by its Monday. kinds: of what was read, which is one.
    """

    popular: tuple[ReleaseReader, int] | None
    words: dict[int, str] = field(default_factory=dict)
    kinds: set[type] = field(default_factory=set)

    @classmethod
    def of(cls, find: Find, popular: tuple[ReleaseReader, int] | None) -> ModelReader:
        """Raises ArtifactError where no model is found."""
        if not find():
            raise ArtifactError("there is no model named by a Monday, such as 2026-11-23")
        return cls(popular)

    def in_words(self) -> str:
        """What is served."""
        return " and ".join(words for _, words in sorted(self.words.items()))

    def directory(self, directory: Path, since: int) -> Serving:
        """Reads and checks a model, ready to be served. Raises ArtifactError and ParameterError."""
        return self.model(of_one_kind(directory, self.kinds), directory, since)

    def model(self, model: Model, directory: Path | None = None, since: int = FIRST) -> Serving:
        """A model, ready to be served, with its live values."""
        from threadpoolctl import threadpool_limits

        from askew_server.retrieval.served import serving_of
        from askew_server.serving.grpc_server import give_back_now

        # For good: an answer is a small product. More threads of BLAS would wait for each other by
        # spinning, on cores that other calls need: under load 96 ms where one thread takes 2.
        threadpool_limits(1)
        if self.popular is not None:
            model = _popular_first(of_tastes(model), *self.popular)
        serving = serving_of(model, directory, since)
        give_back_now()
        serving.refresh(lambda line: write_line(sys.stderr, line))
        self.words[since] = model.words
        return serving


def warn_of_silence(holder: SnapshotHolder) -> None:
    """Say so where the first version is still to come."""
    if not holder.in_force:
        first = text_of_date(holder.versions[0].since)
        words = f"no model is in force before {first}; until then every device is refused"
        write_line(sys.stderr, f"askew-server: {words}")


def _popular_first(model: ItemModel, reader: ReleaseReader, charge: int) -> ItemModel:
    """A release as the popularity prior; says how many of its items the catalog does not have."""
    from askew.dp.release import release_from_bytes
    from askew_server.published.popularity import with_popularity

    release = release_from_bytes(reader.named(charge))
    card, catalog, missed = with_popularity(model.card, model.catalog, release)
    if missed == len(release.items):
        raise ArtifactError(
            f"release {charge} orders no cold start: none of its {missed} items is in the catalog "
            "of the model; --popularity names one whose items are spelled as the model's"
        )
    words = (
        f"release {charge}, {len(release.items) - missed} items; {missed} are not in the catalog"
    )
    write_line(sys.stderr, f"cold start: {words}")
    return replace(model, card=card, catalog=catalog)

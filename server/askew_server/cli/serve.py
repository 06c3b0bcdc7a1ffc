"""`askew-server serve`: answers to noisy signals, and stored releases beside them."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew.catalog.catalog_file import FIRST
from askew.errors import ArtifactError, ConfigError
from askew_server.cli.configured import CommandSettings
from askew_server.cli.options import SERVE_PORT, existing
from askew_server.cli.saved_model import of_one_kind, of_tastes
from askew_server.folders import today
from askew_server.serving.settings import NO_MODEL, Configuration
from askew_server.serving.settings import Models as Chosen

if TYPE_CHECKING:
    from askew_server.cli.saved_model import Model
    from askew_server.published.reader import ReleaseReader
    from askew_server.retrieval.answers import Serving
    from askew_server.serving.call import Service
    from askew_server.serving.models import ModelFolder
    from askew_server.taste.model import ItemModel


_SETTINGS = CommandSettings(
    "models",
    "releases.ledger",
    "releases.popularity",
    "server",
    "tls",
    "http",
    "metrics",
    defaults={"server.port": SERVE_PORT},
)


@click.command()
@_SETTINGS.options
@click.option("--check", is_flag=True, help="Read settings and models, say what is wrong, and end.")
def serve(*, config: Path | None, check: bool, **flags: object) -> None:
    """Answer noisy signals until SIGTERM or Ctrl-C.

    With --ledger, the stored releases of a ledger are served beside, read-only; with
    --popularity, one of them orders what a device shows before it knows anything.

    --models names a folder of at most three models, each named by the Monday from which it is in
    force. Devices get the newest whose Monday has come, and are answered from the one that they
    hold. A model that is put there for a Monday to come is read, checked and swapped in within
    seconds, at once on SIGHUP; so are live values. What cannot be used leaves what is served.

    The next port speaks HTTP: files that devices hold, and calls without gRPC.

    Devices speak TLS to every machine but their own: name --tls-certificate and --tls-key, or put a
    TLS proxy in front and say --plain-text.

    \b
    Examples:
      askew-server serve --model model
      askew-server serve --demo places
      askew-server serve --models models
      askew-server serve --model model --host 0.0.0.0 \\
        --tls-certificate server.pem --tls-key server.key
      askew-server serve --config askew-server.toml --check
    """
    chosen = _SETTINGS.configuration(config, flags)
    if chosen.models == Chosen():
        raise ConfigError(NO_MODEL)
    run(chosen, check=check)


def run(chosen: Configuration, *, check: bool) -> None:
    """Serve what was chosen until the server is stopped; to check, only read settings and models
    and print that they are in order. Raises AskewError where they are not.
    """
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until there is something to look at again
    import asyncio

    from askew_server.retrieval.snapshot import SnapshotHolder
    from askew_server.serving.log import refused, start_log
    from askew_server.serving.metrics import Observer
    from askew_server.serving.models import ModelWatch
    from askew_server.serving.popularity import PopularityService
    from askew_server.serving.retrieval import RetrievalService
    from askew_server.serving.server import serve, tell

    if not check:
        start_log(sys.stderr)
    elif chosen.server.tls is not None:
        from askew_server.serving.certificates import Certificates

        Certificates(chosen.server.tls, click.echo)
    reader, ledger = None, chosen.releases.ledger
    if ledger is not None:
        from askew_server.published.reader import ReleaseReader

        reader = ReleaseReader(existing(ledger))
    charge = chosen.releases.popularity
    popular = None if reader is None or charge is None else (reader, charge)
    wrong: list[str] = []  # with live values, without which a server goes on
    reading = ModelReader(popular, wrong.append if check else refused)
    servings, folder = read_models(chosen.models, reading)
    holder = SnapshotHolder(*(serving.snapshot for serving in servings.values()))
    observer = Observer()
    retrieval = RetrievalService(holder)
    services: list[Service] = [] if reader is None else [PopularityService(reader)]
    if check:
        if reader is not None:
            reader.check()
        if chosen.server.http is not None:
            from askew_server.serving.http_door import http_app

            http_app([retrieval], {}, chosen.server.http, observer)
        if wrong:
            raise ArtifactError("; ".join(wrong))
        click.echo(f"in order: {reading.in_words()}")
        return
    observer.serves(lambda: holder.current.since, time.time(), retrieval.catalogs)
    ready = retrieval.make_ready
    watch = ModelWatch(servings, folder, holder, ready, observer=observer, today=today)

    def announce(bound: int, http: int | None) -> None:
        host, scheme = chosen.server.host, "https" if chosen.server.tls else "http"
        door = "" if http is None else f"{scheme}://{host}:{http}, "
        tell(f"listening on {host}:{bound}, {door}{reading.in_words()}")

    services.append(retrieval)
    asyncio.run(serve(services, chosen.server, announce, beside=watch.run, observer=observer))


def read_models(
    chosen: Chosen, reading: ModelReader
) -> tuple[Mapping[int, Serving], ModelFolder | None]:
    """Return what was chosen, read and ready to be served, by its Monday in days since 1970-01-01,
    and the folder that it lies in, if it lies in one. Raises ArtifactError and ParameterError.
    """
    if chosen.demo is not None:
        return {FIRST: reading.model(_demo(chosen.demo))}, None
    if chosen.folder is not None:
        from askew_server.serving.models import ModelFolder

        folder = ModelFolder(chosen.folder, reading.directory)
        return folder.read_all(today()), folder
    return {FIRST: reading.directory(chosen.directory or Path(), FIRST)}, None


def _demo(name: str) -> Model:
    if name == "places":
        from askew_server.demo.places import places_model

        return places_model()
    from askew_server.demo.simulation import demo_model

    return demo_model()


@dataclass(frozen=True)
class ModelReader:
    """How each model is read. popular: the release that orders a cold start. refused: told what is
    wrong with live values. words: what was read, by its Monday. kinds: of what was read, which is
    one.
    """

    popular: tuple[ReleaseReader, int] | None
    refused: Callable[[str], None]
    words: dict[int, str] = field(default_factory=dict)
    kinds: set[type] = field(default_factory=set)

    def in_words(self) -> str:
        """Return the words of the models that were read, such as "3706 items, MovieLens", that of
        the oldest Monday first, with "and" between; "" for none.
        """
        return " and ".join(words for _, words in sorted(self.words.items()))

    def directory(self, directory: Path, since: int) -> Serving:
        """Return the model of a directory, read, checked and ready to be served from the Monday
        `since` on. Raises ArtifactError and ParameterError.
        """
        return self.model(of_one_kind(directory, self.kinds), directory, since)

    def model(self, model: Model, directory: Path | None = None, since: int = FIRST) -> Serving:
        """Return a model ready to be served from the Monday `since` on, with the live values beside
        its directory, if there are any, and the release that orders a cold start.
        """
        from threadpoolctl import threadpool_limits

        from askew_server.retrieval.answers import Serving

        # For good: an answer is a small product. More threads of BLAS would wait for each other by
        # spinning, on cores that other calls need: under load 96 ms where one thread takes 2.
        threadpool_limits(1)
        words = model.words
        if self.popular is not None:
            model, cold_start = _popular_first(of_tastes(model), *self.popular)
            words = f"{words}, {cold_start}"
        serving = Serving(model, directory, since)
        serving.refresh(self.refused)
        self.words[since] = words
        return serving


def _popular_first(model: ItemModel, reader: ReleaseReader, charge: int) -> tuple[ItemModel, str]:
    """Return the model with a release as its popularity prior, and a phrase with how many of the
    release's items the catalog has and has not. Raises ArtifactError where it has none.
    """
    from askew.dp.release import release_from_bytes
    from askew_server.published.popularity import with_popularity

    release = release_from_bytes(reader.named(charge))
    card, catalog, missed = with_popularity(model.card, model.catalog, release)
    if missed == len(release.items):
        raise ArtifactError(
            f"release {charge} orders no cold start: none of its {missed} items is in the catalog "
            "of the model. Name by --popularity one whose items are spelled as the model's"
        )
    found = len(release.items) - missed
    words = f"cold start by release {charge}: {found} items, {missed} are not in the catalog"
    return replace(model, card=card, catalog=catalog), words

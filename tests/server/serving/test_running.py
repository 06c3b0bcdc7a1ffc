"""A server as a process: before its first call, and on signals."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from issuer import Issuer, Tls
from small_collections import GERMANY, cafes, keys_of, small_map

from askew.catalog.catalog_file import PERIOD, catalog_date_of
from askew_server.collections.artifact import save
from askew_server.collections.model import model_of
from askew_server.folders import text_of_date, today
from askew_server.serving import server
from askew_server.serving.metrics import Observer
from askew_server.serving.server import serve
from askew_server.serving.settings import ServerConfig

Run = Callable[..., int]
MakeFiles = Callable[..., Tls]
PATIENCE = 30  # seconds; only ever waited for by a server that does not do what it should


@pytest.mark.slow
async def test_a_hangup_wakes_what_runs_beside() -> None:
    """Planted bug: models that are looked at in their own time alone."""

    async def beside(wake: asyncio.Event) -> None:
        os.kill(os.getpid(), signal.SIGHUP)
        await wake.wait()
        os.kill(os.getpid(), signal.SIGTERM)

    serving = serve([], ServerConfig(), lambda *_: None, beside=beside)
    await asyncio.wait_for(serving, PATIENCE)


@pytest.mark.slow
async def test_a_hangup_where_nothing_runs_beside_ends_nothing() -> None:
    """As for a server of releases. Without a handler, this test ends too. Planted bug: a loop that
    waits 5 ms for a job's lock, so that refusals are late.
    """

    def stop(*_: int | None) -> None:
        assert sys.getswitchinterval() == 0.001
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGTERM)

    await serve([], ServerConfig(), stop)


def test_a_server_that_starts_without_its_live_values_counts_no_refused_model(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is an alert for refused models. Planted bug: it rings for live values."""
    counts = []

    async def counted(*_: object, observer: Observer, **__: object) -> None:
        counts.append(observer.registry.get_sample_value("askew_snapshot_swaps_refused_total"))

    monkeypatch.setattr(server, "serve", counted)
    save(small_map(), tmp_path / "live", {"cafes": keys_of(30)})
    (tmp_path / "live" / "live-0.safetensors").write_bytes(b"cut")
    assert run("serve", "--model", tmp_path / "live") == 0
    assert "live values of cafes were not taken" in capsys.readouterr().err
    assert counts == [0]


@pytest.fixture
def _never_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "serve", lambda *_, **__: pytest.fail("it serves"))


@pytest.mark.usefixtures("_never_served")
def test_a_check_ends_when_settings_and_models_were_read(
    run: Run, directory: Path, issuer: Issuer, made: MakeFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside a copy under way: the documents copy a model to .new and move it. Planted bugs: a
    check that goes on to serve; one that fails of what is not served.
    """
    tls, folder = made(issuer), directory.with_name("models")
    folder.mkdir()
    for name in (text_of_date(catalog_date_of(today())), ".new", "another"):
        (folder / name).symlink_to(directory)
    words = ("--tls-certificate", tls.certificate, "--tls-key", tls.key)
    assert run("serve", "--check", "--models", folder, *words) == 0
    shown = capsys.readouterr()
    assert shown.out == "in order: 24 items, ratings of 60 people\n"
    said = f"{folder / 'another'} is not served: its name is no Monday such as 2026-11-23\n"
    assert shown.err == said


@pytest.mark.usefixtures("_never_served")
def test_a_check_refuses_whatever_a_server_would(
    run: Run, tmp_path: Path, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also that without which it would go on. Planted bugs: a check that reads models alone; one of
    next week is served alone, and every device is refused.
    """
    now, coming = (text_of_date(catalog_date_of(today()) + days) for days in (0, PERIOD))
    such = "name one by a Monday that has come"
    save(small_map(), tmp_path / "live", {"cafes": keys_of(30)})
    (tmp_path / "live" / "live-0.safetensors").write_bytes(b"cut")
    (tmp_path / "models").mkdir()
    for place, name in (now, "cafes"), (coming, "bars"):
        card = replace(cafes().card, name=name)
        save(model_of(GERMANY, [replace(cafes(), card=card)]), tmp_path / "models" / place)
    (tmp_path / "ledger").write_bytes(b"no ledger")
    (tmp_path / "coming").mkdir()
    for name in ("another", coming):
        (tmp_path / "coming" / name).symlink_to(directory)
    for words, code, told in (
        (("--model", tmp_path / "live"), 1, "live values of cafes were not taken"),
        (("--models", tmp_path / "models"), 1, "number 0 is that of the collection cafes"),
        (("--model", directory, "--ledger", tmp_path / "ledger"), 1, "ledger"),
        (("--model", tmp_path / "nowhere"), 1, "nowhere/manifest.json cannot be read"),
        (("--models", tmp_path / "nowhere"), 1, "nowhere cannot be read"),
        (("--models", tmp_path / "coming"), 1, f"no model that is in force: {such}, such as {now}"),
        (("--model", directory, "--ledger", tmp_path / "none"), 1, "there is no ledger"),
        ((), 2, "name one model to serve"),
    ):
        assert run("serve", "--check", *words) == code
        assert told in " ".join(capsys.readouterr().err.split())

"""Certificates of `askew-server certs`, a server's process that shows them, and a real device."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from askew.errors import AskewError, Unreachable
from askew_client.client import AskewClient
from askew_client.ledger.store import SignalStore
from askew_client.settings.paths import places
from askew_client.settings.settings import ClientSettings
from askew_server.cli.main import cli

PATIENCE = 60


def certs(folder: Path) -> Path:
    cli.main(["certs", str(folder), "--host", "127.0.0.1"], standalone_mode=False)
    return folder


@pytest.fixture
def trusted(tmp_path: Path) -> Path:
    return certs(tmp_path / "dev")


@pytest.fixture
def server(trusted: Path, tmp_path: Path) -> Iterator[str]:
    """Where a server of the demo listens, by a file of settings."""
    config = tmp_path / "server.toml"
    config.write_text(
        f"""
        [server]
        port = 0
        [models]
        demo = "films"
        [tls]
        certificate = "{trusted}/server.pem"
        key = "{trusted}/server.key"
        """
    )
    command = [sys.executable, "-m", "askew_server", "serve", "--config", str(config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"listening on (127\.0\.0\.1:\d+)", process.stdout.readline())
        assert found
        yield found[1]
        process.terminate()
        process.communicate(timeout=PATIENCE)


async def test_a_question_is_answered_over_tls_and_a_stranger_gets_none(
    server: str, trusted: Path, tmp_path: Path
) -> None:
    """A server that is not trusted learns nothing, and nothing is charged for it."""
    stranger = certs(tmp_path / "stranger")
    for authority in (str(stranger / "authority.pem"), ""):
        settings = ClientSettings(pace=0.001, way="signal", authority=authority)
        async with AskewClient(settings, server=server, directory=tmp_path / "device") as client:
            with pytest.raises(Unreachable) as caught:
                await client.ask()
        assert str(caught.value).startswith(f"no connection to {server}: it")
    assert charges_of(tmp_path / "device", settings) == 0
    settings = ClientSettings(
        pace=0.001, way="signal", authority=str(trusted / "authority.pem"), timeout=PATIENCE
    )
    async with AskewClient(settings, server=server, directory=tmp_path / "device") as client:
        answer = await client.ask()
    assert len(answer.results) >= settings.k
    assert charges_of(tmp_path / "device", settings) == 1


def charges_of(folder: Path, settings: ClientSettings) -> int:
    where = places(folder)
    if not where.ledger.exists():
        return 0
    try:
        return len(SignalStore(where.ledger, settings.caps, where.anchor).charges())
    except AskewError:
        return -1

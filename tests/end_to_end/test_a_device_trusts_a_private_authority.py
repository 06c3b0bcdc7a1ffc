"""Certificates of `askew-server certs`, a server's process that shows them, and a real device."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from end_to_end.server_process import BESIDE

from askew.errors import AskewError, Unreachable
from askew_client.client import AskewClient
from askew_client.settings.config import places
from askew_client.settings.settings import ClientSettings
from askew_client.signals.store import SignalStore
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
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=BESIDE) as process:
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
        settings = ClientSettings(mode="ask", authority=authority)
        async with AskewClient(settings, server=server, directory=tmp_path / "device") as client:
            with pytest.raises(Unreachable) as caught:
                await client.ask()
        port = int(server.rpartition(":")[2]) + 1
        where = f"the files of {server} (port {port})"  # the first contact
        assert str(caught.value).startswith(f"no connection to {where}: it")
    assert charges_of(tmp_path / "device", settings) == 0
    settings = ClientSettings(
        mode="ask", authority=str(trusted / "authority.pem"), timeout=PATIENCE
    )
    async with AskewClient(settings, server=server, directory=tmp_path / "device") as client:
        answer = await client.ask()
    assert len(answer.results) >= settings.k
    assert charges_of(tmp_path / "device", settings) == 1


@pytest.mark.slow
def test_a_program_that_is_refused_hears_one_error_and_nothing_of_grpc(
    server: str, tmp_path: Path
) -> None:
    """Before: a line of gRPC's own for each of eight handshakes, and 5.7 seconds."""
    stranger = certs(tmp_path / "stranger") / "authority.pem"
    code = f"""
from askew.errors import Unreachable
from askew_client import BlockingClient, ClientSettings
with BlockingClient(
    ClientSettings(authority={str(stranger)!r}), server={server!r}, directory={str(tmp_path)!r}
) as client:
    try:
        client.ask()
    except Unreachable as error:
        print(error)
"""
    environment = {name: text for name, text in os.environ.items() if name != "GRPC_VERBOSITY"}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert (run.stderr, run.stdout.count("\n")) == ("", 1)
    assert "its certificate is of no authority that is trusted here" in run.stdout


def charges_of(folder: Path, settings: ClientSettings) -> int:
    where = places(folder)
    if not where.ledger.exists():
        return 0
    try:
        return len(SignalStore(where.ledger, settings.caps, where.mark).entries())
    except AskewError:
        return -1

"""Certificates of `askew-server certs`, a server's process that shows them, and a real device."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from end_to_end.server_process import served

from askew.errors import Unreachable
from askew_client import AskewClient, ClientSettings
from askew_server.cli.main import cli

PATIENCE = 60


def certs(folder: Path) -> Path:
    cli.main(["certs", str(folder), "--host", "127.0.0.1"], standalone_mode=False)
    return folder


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Where a server of the demo listens, by a file of settings; its certificates are in dev."""
    trusted, config = certs(tmp_path / "dev"), tmp_path / "server.toml"
    config.write_text(
        f"""
        [models]
        demo = "films"
        [tls]
        certificate = "{trusted}/server.pem"
        key = "{trusted}/server.key"
        """
    )
    with served(tmp_path, "serve", "--config", config) as running:
        yield f"127.0.0.1:{running.port}"


async def test_a_question_is_answered_over_tls_and_a_stranger_gets_none(
    server: str, tmp_path: Path
) -> None:
    """A server that is not trusted learns nothing, and nothing is charged for it."""
    stranger = certs(tmp_path / "stranger")
    directory = tmp_path / "device"
    for authority in (str(stranger / "authority.pem"), ""):
        settings = ClientSettings(mode="ask", authority=authority)
        async with AskewClient(settings, server=server, directory=directory) as client:
            with pytest.raises(Unreachable) as caught:
                await client.ask()
            assert client.budget().lines == ()
        port = int(server.rpartition(":")[2]) + 1
        where = f"the files of {server} (port {port})"  # the first contact
        assert str(caught.value).startswith(f"no connection to {where}: it")
    authority = str(tmp_path / "dev/authority.pem")
    settings = ClientSettings(mode="ask", authority=authority, timeout=PATIENCE)
    async with AskewClient(settings, server=server, directory=directory) as client:
        answer = await client.ask()
        assert len(client.budget().lines) == 1
    assert len(answer.results) >= settings.k


@pytest.mark.slow
async def test_a_program_that_is_refused_hears_one_error_and_nothing_of_grpc(
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
    run = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert (run.stderr, run.stdout.count("\n")) == ("", 1)
    assert "its certificate is of no authority that is trusted here" in run.stdout

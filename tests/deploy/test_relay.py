"""The form of a relay that the documents show, run by nginx: what it passes on and keeps."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from deploy.proxy import CALLER, free_port, require_nginx
from end_to_end.server_process import running
from relaying import GATEWAY, key_file, new_key, relaying

from askew.noise.randomness import SystemBits
from askew_client.transport.calls import METRIC_CARD
from askew_client.transport.relay import RelayTransport

pytestmark = pytest.mark.slow


require_nginx()

PAGE = Path(__file__).parents[2] / "docs/protocol.md"
PATIENCE = 20.0


def form(gateway: int) -> str:
    """The documents' own words, before a gateway in plain text on this machine."""
    page = PAGE.read_text(encoding="utf-8")
    shown = re.search(r"\n    location = /askew \{\n.*?\n    \}\n", page, re.DOTALL)
    assert shown is not None
    text = re.sub(r".*proxy_ssl.*\n", "", shown[0])
    remote, here = "proxy_pass https://films.example/", f"proxy_pass http://{CALLER}:{gateway}/"
    assert remote + GATEWAY[1:] in text
    return text.replace(remote, here)


@contextmanager
def nginx(folder: Path, gateway: int) -> Iterator[int]:
    """One of that form; its port."""
    port, file = free_port(), folder / "nginx.conf"
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    file.write_text(
        f"error_log stderr emerg; pid {folder}/pid; events {{}}\n"
        f"http {{ {paths} server {{ listen {CALLER}:{port};\n{form(gateway)} }} }}\n",
        encoding="utf-8",
    )
    subprocess.run(["nginx", "-p", str(folder), "-c", str(file)], check=True)
    try:
        yield port
    finally:
        os.kill(int((folder / "pid").read_text(encoding="utf-8")), signal.SIGTERM)


async def test_the_form_of_a_relay_passes_a_sealed_request_on_and_no_header_of_a_device(
    tmp_path: Path,
) -> None:
    """A request goes by nginx and by a relay that writes headers down."""
    keys = key_file(tmp_path / "keys.pem", new_key())
    async with running("--demo", "places", "--port", 0, "--ohttp-key", keys) as server:
        assert server.http is not None
        with relaying(server.http) as behind, nginx(tmp_path, behind.port) as port:
            _, _, key = (await asyncio.to_thread(behind.setting)).partition("#")
            address = f"http://{CALLER}:{port}/askew#{key}"
            network = RelayTransport(address, "askew.invalid:443", PATIENCE, SystemBits())
            assert await network.call("GetModelCard", METRIC_CARD)
    (headers,) = behind.headers
    assert headers.keys() <= {"host", "connection", "content-type", "content-length"}
    assert headers["content-type"] == "message/ohttp-req"

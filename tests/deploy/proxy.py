"""nginx with the configuration that is shipped, on this machine, before servers of the tests."""

from __future__ import annotations

import datetime
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import grpc.aio
import pytest
from issuer import Issuer

SHIPPED = Path(__file__).parents[2] / "deploy/nginx.conf"
CALLER = "127.0.0.1"  # servers of the tests have other addresses, so this one is a caller's


def require_nginx() -> None:
    """Leaves a test module where nginx is not installed, but for CI, which installs it."""
    if shutil.which("nginx"):
        return
    message = "nginx is not installed; get it by: apt-get install nginx-light"
    if os.environ.get("ASKEW_ENGINES") == "require":
        raise RuntimeError(f"ASKEW_ENGINES=require, but {message}")
    pytest.skip(message, allow_module_level=True)


@dataclass(frozen=True)
class Proxy:
    """A running nginx. authority: the certificate that callers trust; output: what it writes."""

    address: str
    authority: Path
    output: Path

    @property
    def log(self) -> str:
        """The access log and the messages."""
        return self.output.read_text(encoding="utf-8")

    def channel(self) -> grpc.aio.Channel:
        """A connection of its own."""
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
        trust = grpc.ssl_channel_credentials(root_certificates=self.authority.read_bytes())
        return grpc.aio.secure_channel(self.address, trust, options=options)


@contextmanager
def proxying(
    servers: Sequence[str], folder: Path, rate: str = "50r/s", patience: str = "10s"
) -> Iterator[Proxy]:
    """The shipped configuration, with paths, ports and addresses of this machine and no other.
    patience: with slow callers.
    """
    issuer = Issuer(datetime.datetime.now(datetime.UTC), days=1)
    certificate, key = issuer.server([CALLER])
    (folder / "server.pem").write_bytes(certificate)
    (folder / "server.key").write_bytes(key)
    authority = folder / "authority.pem"
    authority.write_bytes(issuer.certificate)
    with socket.create_server((CALLER, 0)) as free:
        port = free.getsockname()[1]
    text = SHIPPED.read_text(encoding="utf-8")
    third = [*servers, servers[-1]][:3]  # where a test has but two
    places = {}
    for at, address in enumerate(third, 1):
        host, _, number = address.rpartition(":")
        places[f"server askew-{at}:7571 "] = f"server {host}:{number} "
        places[f"server askew-{at}:7572 "] = f"server {host}:{int(number) + 1} "
    changes = {
        "listen 8443 ": f"listen {CALLER}:{port} ",
        "rate=50r/s": f"rate={rate}",
        "/etc/askew/tls/": f"{folder}/",
        "/tmp/nginx": f"{folder}/nginx",
        "_timeout 10s": f"_timeout {patience}",
        **places,
    }
    for shipped, here in changes.items():
        assert shipped in text, shipped
        text = text.replace(shipped, here)
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    output = folder / "output"
    command = ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]
    with output.open("wb") as written:  # it goes on by itself once it listens
        subprocess.run(command, stdout=written, stderr=written, check=True)
    try:
        yield Proxy(f"{CALLER}:{port}", authority, output)
    finally:
        os.kill(int((folder / "nginx.pid").read_text(encoding="utf-8")), signal.SIGTERM)

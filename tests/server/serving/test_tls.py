"""TLS on a real port: who is served, who is refused in words; certificates exchanged and made."""

from __future__ import annotations

import asyncio
import base64
import datetime
import ipaddress
import os
import signal
import ssl
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from issuer import Issuer, Tls
from logged import logged

from askew.errors import AccessError, ParameterError, Unreachable
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.transport import grpc as grpc_transport
from askew_client.transport.grpc import GrpcTransport
from askew_server.folders import write_new
from askew_server.serving import server
from askew_server.serving.analyst_client import AnalystClient
from askew_server.serving.call import Service
from askew_server.serving.certificates import Certificates, read_pair
from askew_server.serving.metrics import Observer
from askew_server.serving.server import running
from askew_server.serving.settings import ServerConfig

PATIENCE = 20


CURVE = bytes.fromhex("2a8648ce3d030107")  # its name in a key
HERE = ("127.0.0.1",)
NOW = datetime.datetime.now(datetime.UTC)
LONG_AGO, AHEAD = (NOW + days * datetime.timedelta(days=40) for days in (-1, 1))
MakeFiles = Callable[..., Tls]
Run = Callable[..., int]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device gives up at once: here no server that fails comes back."""
    monkeypatch.setattr(grpc_transport, "PATIENCE", 0.0)


class Pieces(Service):
    """A service that lets devices hold one file, and nothing else."""

    name = pb.DESCRIPTOR.services_by_name["Retrieval"].full_name

    def __init__(self) -> None:
        self.methods = {"GetModelCard": lambda _, __: b"a card"}


@asynccontextmanager
async def serving(tls: Tls | None) -> AsyncIterator[str]:
    """A server, and where it is."""
    async with running([Pieces()], tls.config() if tls else ServerConfig(grace=0)) as server:
        yield f"127.0.0.1:{server.port}"


async def card_of(network: GrpcTransport) -> bytes:
    return await network.call("GetModelCard", b"")


async def why_none_is_served(where: str, authority: Path | str = "") -> str:
    """Of a device: why there was no connection, in one line."""
    async with GrpcTransport(where, PATIENCE, str(authority)) as network:
        with pytest.raises(Unreachable) as caught:
            await card_of(network)
    assert str(caught.value).isprintable()
    return str(caught.value)


FAULTS = {
    "its certificate is for another host": (NOW, ("example.org", "127.0.0.2")),
    "its certificate is of no authority that is trusted here": (NOW, HERE),
    "its certificate has expired": (LONG_AGO, HERE),
    "its certificate is not valid yet": (AHEAD, HERE),
    "it does not speak TLS": (NOW, None),
}


@pytest.mark.parametrize("reason", FAULTS)
async def test_a_server_that_is_not_trusted_is_refused_in_one_line(
    reason: str, tmp_path: Path, made: MakeFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    since, hosts = FAULTS[reason]
    monkeypatch.setattr(Certificates.__init__, "__defaults__", (lambda: since,))  # else none shown
    issuer = Issuer(since, days=1)
    authority = tmp_path / "authority.pem"
    write_new({authority: (Issuer(NOW, 1) if "authority" in reason else issuer).certificate})
    async with serving(made(issuer, hosts) if hosts else None) as where:
        assert await why_none_is_served(where, authority) == f"no connection to {where}: {reason}"


async def test_who_speaks_plain_text_to_tls_is_told_so(issuer: Issuer, made: MakeFiles) -> None:
    async with serving(made(issuer)) as where:
        said = await why_none_is_served(where)
    assert said.endswith("it closed the connection; if it speaks TLS, name its authority")


@pytest.mark.parametrize("content", [None, b"a key\n", b"\xff"])
def test_an_authority_that_is_none_is_refused_before_anything_is_sent(
    content: bytes | None, tmp_path: Path
) -> None:
    """Planted bug: gRPC's own silence, which ends in a deadline."""
    path = tmp_path / "authority.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ParameterError, match=f"authority must be a file .*'{path}'"):
        GrpcTransport("127.0.0.1:1", PATIENCE, str(path))
    with pytest.raises((ParameterError, AccessError), match=str(path)):
        AnalystClient("127.0.0.1:1", "token", authority=path)


async def shown_by(port: int | None) -> str:
    """The certificate that a new handshake gets."""
    place = ("127.0.0.1", port or 0)
    return await asyncio.to_thread(ssl.get_server_certificate, place, timeout=PATIENCE)


async def test_new_connections_get_the_new_certificate_and_old_ones_live_on(
    issuer: Issuer, authority: Path, made: MakeFiles
) -> None:
    """By both doors, without a restart; on this machine too, where a device would speak plain text
    otherwise. Planted bug: files that are read once.
    """
    tls = made(issuer)
    async with (
        running([Pieces()], tls.config(http=True)) as server,
        GrpcTransport(f"127.0.0.1:{server.port}", PATIENCE, str(authority)) as old,
    ):
        doors = [server.port, server.http_port]
        await card_of(old)
        first = tls.certificate.read_text()
        assert [await shown_by(port) for port in doors] == [first] * 2
        made(issuer)
        await server.look()
        assert [await shown_by(port) for port in doors] == [tls.certificate.read_text()] * 2
        assert first != tls.certificate.read_text()
        assert old.channel.get_state() is grpc.ChannelConnectivity.READY
        assert await card_of(old) == b"a card"


def damaged(tls: Tls, issuer: Issuer) -> None:
    """In the name of its host alone, which is read last."""
    der = ssl.PEM_cert_to_DER_cert(tls.certificate.read_text())
    at = der.rindex(bytes([127, 0, 0, 1]))
    tls.certificate.write_text(ssl.DER_cert_to_PEM_cert(der[: at - 1] + b"\x7f" + der[at:]))


def of_no_kind(tls: Tls, issuer: Issuer) -> None:
    """A key on a curve that nobody knows."""
    lines = tls.key.read_text().splitlines()
    der = ssl.PEM_cert_to_DER_cert(f"{ssl.PEM_HEADER}\n{''.join(lines[1:-1])}\n{ssl.PEM_FOOTER}")
    other = base64.b64encode(der.replace(CURVE, CURVE[:-1] + b"\x7f")).decode()
    tls.key.write_text("\n".join([lines[0], other, lines[-1]]))


def replaced(tls: Tls, by: Issuer) -> None:
    for path, content in zip(tls, by.server(HERE), strict=True):
        path.write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (
            lambda tls, by: tls.certificate.write_bytes(by.server(HERE)[0]),
            "is not that of the cert",
        ),
        (damaged, "holds no certificate in PEM"),
        (of_no_kind, "holds no private key in PEM"),
        (lambda tls, _: tls.key.unlink(), "cannot be read: No such file or directory"),
        (lambda tls, _: tls.key.chmod(0o644), "must be a regular file of mode 0600"),
        (lambda tls, _: replaced(tls, Issuer(LONG_AGO, days=1)), "server.pem expired on"),
        (lambda tls, _: replaced(tls, Issuer(AHEAD, days=1)), "server.pem is not valid before"),
    ],
)
def test_what_is_no_use_leaves_the_old_certificate_and_one_line_without_a_caller(
    spoil: Callable[[Tls, Issuer], object], reason: str, issuer: Issuer, made: MakeFiles
) -> None:
    """And what comes after it is shown: nobody restarts a server for a file half written. At the
    start it is refused.
    """
    told, tls = list[str](), made(issuer)
    certificates = Certificates(*tls, told.append)
    before = certificates.pair
    spoil(tls, issuer)
    for _ in range(3):
        assert not certificates.look()
    assert certificates.pair is before
    [line] = told
    assert reason in line
    with pytest.raises(AccessError, match=reason):
        Certificates(*tls, pytest.fail)
    made(issuer)
    with logged() as lines:
        assert certificates.look()
        assert not certificates.look()
    assert [line["event"] for line in lines.events] == ["certificates_changed"]


async def test_a_timer_looks_at_the_files_and_says_what_is_wrong(
    issuer: Issuer, made: MakeFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody calls. Planted bug: files that are looked at when somebody connects."""
    monkeypatch.setattr(server, "_EVERY", 0.01)
    tls, observer = made(issuer), Observer()
    refused = "askew_certificates_refused_total"

    def announce(*_: int | None) -> None:
        tls.certificate.write_bytes(issuer.server(HERE)[0])

    with logged() as lines:
        serving = asyncio.create_task(server.serve([], tls.config(), announce, observer=observer))
        async with asyncio.timeout(PATIENCE):
            while not observer.registry.get_sample_value(refused):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)
        await serving
    assert "certificates_refused" in [each["event"] for each in lines.events]


def test_a_pair_names_a_host_and_never_shows_its_key(issuer: Issuer, made: MakeFiles) -> None:
    """Planted bug: a server that starts, and that no device believes."""
    files = made(issuer)
    assert files.key.read_text().splitlines()[1] not in repr(read_pair(*files, NOW))
    with pytest.raises(AccessError, match="names no host: callers look at subjectAltName alone"):
        read_pair(*made(issuer, hosts=()), NOW)


def test_a_key_that_root_gave_to_the_servers_group_is_taken(
    issuer: Issuer, made: MakeFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As secrets are mounted for a server that is not root; nobody beyond the group."""
    tls, really = made(issuer), os.fstat

    def of_root(handle: int) -> os.stat_result:
        found = list(really(handle))
        found[stat.ST_UID] = 0
        return os.stat_result(found)

    monkeypatch.setattr(os, "fstat", of_root)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    tls.key.chmod(0o440)
    Certificates(*tls, pytest.fail)
    for mode in (0o460, 0o444):
        tls.key.chmod(mode)
        with pytest.raises(AccessError, match="mode 0600"):
            Certificates(*tls, pytest.fail)


def test_a_certificate_to_come_is_shown_from_its_beginning_on(
    issuer: Issuer, made: MakeFiles
) -> None:
    """Without another exchange of files, and said once. Planted bugs: files that are refused once
    and for all; the days of a certificate that is not shown.
    """
    now, told = NOW, list[str]()
    tls = made(issuer)
    certificates = Certificates(*tls, told.append, lambda: now)
    assert certificates.days_left == pytest.approx(1, abs=0.01)
    old = certificates.pair
    replaced(tls, Issuer(AHEAD, days=1))
    for _ in range(3):
        assert not certificates.look()
    assert (certificates.pair, len(told)) == (old, 1)
    now += datetime.timedelta(hours=36)
    assert not certificates.look()
    assert certificates.days_left == pytest.approx(-0.5, abs=0.01)
    now = AHEAD + datetime.timedelta(hours=1)
    assert certificates.look()
    assert (certificates.pair == old, len(told)) == (False, 1)


def test_certificates_for_development_fit_together_and_keys_are_private(
    run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "dev"
    hosts = ("--host", "server.test", "--host", "127.0.0.1")
    assert run("certs", folder, *hosts) == 0
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert modes["server.key"] == 0o600
    authority, server = (
        x509.load_pem_x509_certificate((folder / f"{name}.pem").read_bytes())
        for name in ("authority", "server")
    )
    server.verify_directly_issued_by(authority)
    assert isinstance(key := server.public_key(), ec.EllipticCurvePublicKey)
    assert isinstance(key.curve, ec.SECP256R1)
    assert not (folder / "authority.key").exists()  # which could sign for any host
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert list(names) == [
        x509.DNSName("server.test"),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    ]


def test_no_file_is_overwritten_and_then_none_is_made(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "server.key"
    key.write_text("mine")
    assert run("certs", tmp_path) == 1
    assert f"{key} is there already and was left alone" in capsys.readouterr().err
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("host", ["localhost:7571", ""])
def test_what_no_certificate_can_say_is_wrong_usage_and_makes_nothing(
    host: str, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "dev"
    assert run("certs", folder, "--host", host) == 2
    assert "names or addresses, no ports" in " ".join(capsys.readouterr().err.split())
    assert not folder.exists()

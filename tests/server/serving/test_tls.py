"""TLS on a real port: who is served, who is refused in words, and certificates exchanged."""

from __future__ import annotations

import asyncio
import base64
import datetime
import io
import json
import os
import socket
import ssl
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest
from cryptography import x509
from issuer import Issuer

from askew.errors import AccessError, ParameterError, Unreachable
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.transport import grpc as grpc_transport
from askew_client.transport.grpc import GrpcTransport
from askew_server.folders import write_new
from askew_server.serving import certificates
from askew_server.serving.analyst_client import AnalystClient, Trust
from askew_server.serving.call import Answer
from askew_server.serving.certificates import Certificates, read_identity
from askew_server.serving.event_log import EventLog
from askew_server.serving.grpc_server import RunningServer
from askew_server.serving.observer import Observer
from askew_server.serving.settings import Http, ServerConfig, Tls

PATIENCE = 20


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a device is told of a server is told at once: here none that fails comes back."""
    monkeypatch.setattr(grpc_transport, "PATIENCE", 0.0)


CURVE = bytes.fromhex("2a8648ce3d030107")  # its name in a key
LONG_AGO = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=40)
NOW = datetime.datetime.now(datetime.UTC)
AHEAD = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=40)
MakeFiles = Callable[..., Tls]


class Pieces:
    """A service that lets devices hold one file, and nothing else."""

    name = pb.DESCRIPTOR.services_by_name["Retrieval"].full_name

    @property
    def methods(self) -> Mapping[str, Answer]:
        return {"GetModelCard": lambda _, __: b"a card"}


@asynccontextmanager
async def serving(tls: Tls | None, told: io.StringIO | None = None) -> AsyncIterator[str]:
    """A server, and where it is."""
    server = RunningServer([Pieces()], ServerConfig(tls=tls), Observer(EventLog(told)))
    await server.start()
    try:
        yield f"127.0.0.1:{server.port}"
    finally:
        await server.stop(grace=0)


async def card_of(network: GrpcTransport) -> bytes:
    return await network.call("GetModelCard", b"")


async def one_line_of(call: Awaitable[object]) -> str:
    """Why there was no connection."""
    with pytest.raises(Unreachable) as caught:
        await call
    text = str(caught.value)
    assert text.isprintable()
    return text


async def test_a_device_is_served_by_whom_its_authority_vouches_for(
    issuer: Issuer, authority: Path, made: MakeFiles
) -> None:
    """On this machine too, where it would speak plain text otherwise."""
    async with (
        serving(made(issuer)) as where,
        GrpcTransport(where, PATIENCE, str(authority)) as network,
    ):
        assert await card_of(network) == b"a card"


FAULTS: dict[str, tuple[Callable[[Issuer, MakeFiles], Tls | None], str]] = {
    "another host": (
        lambda issuer, made: made(issuer, ("example.org", "127.0.0.2")),
        "its certificate is for another host",
    ),
    "another authority": (
        lambda issuer, made: made(Issuer(LONG_AGO, days=90)),
        "its certificate is of no authority that is trusted here",
    ),
    "plain text": (lambda issuer, made: None, "it does not speak TLS"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_server_that_is_not_trusted_is_refused_in_one_line(
    fault: str, issuer: Issuer, authority: Path, made: MakeFiles
) -> None:
    make, reason = FAULTS[fault]
    async with (
        serving(make(issuer, made)) as where,
        GrpcTransport(where, PATIENCE, str(authority)) as network,
    ):
        assert await one_line_of(card_of(network)) == f"no connection to {where}: {reason}"


@pytest.mark.parametrize(
    ("since", "reason"),
    [
        (LONG_AGO, "its certificate has expired"),
        (AHEAD, "its certificate is not valid yet"),
    ],
)
async def test_a_certificate_out_of_its_time_is_refused_in_one_line(
    since: datetime.datetime,
    reason: str,
    tmp_path: Path,
    made: MakeFiles,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By a device; a server of ours does not show it."""
    monkeypatch.setattr(certificates, "check_time", lambda *_: None)
    other = Issuer(since, days=1)
    (tmp_path / "other.pem").write_bytes(other.certificate)
    async with (
        serving(made(other)) as where,
        GrpcTransport(where, PATIENCE, str(tmp_path / "other.pem")) as network,
    ):
        assert await one_line_of(card_of(network)) == f"no connection to {where}: {reason}"


async def test_who_speaks_plain_text_to_tls_is_told_so(issuer: Issuer, made: MakeFiles) -> None:
    async with serving(made(issuer)) as where, GrpcTransport(where, PATIENCE) as network:
        assert await one_line_of(card_of(network)) == (
            f"no connection to {where}: it closed the connection; if it speaks TLS, name its "
            "authority"
        )


@pytest.mark.parametrize("content", [None, b"", b"a key\n", b"\xff"])
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
        AnalystClient("127.0.0.1:1", "token", trust=Trust(authority=path))


# -- callers with certificates --------------------------------------------------------------------


async def test_where_certificates_are_asked_for_nobody_is_served_without_one(
    issuer: Issuer, authority: Path, made: MakeFiles
) -> None:
    """Planted bug: asking for a certificate and taking none for an answer."""
    async with (
        serving(made(issuer, client_authority=authority)) as where,
        GrpcTransport(where, PATIENCE, str(authority)) as network,
    ):
        await one_line_of(card_of(network))


@pytest.mark.parametrize("whose", ["the authority", "a stranger"])
async def test_a_caller_is_served_with_a_certificate_of_the_authority_alone(
    whose: str, issuer: Issuer, authority: Path, made: MakeFiles, tmp_path: Path
) -> None:
    signing = issuer if whose == "the authority" else Issuer(LONG_AGO, days=90)
    certificate, key = tmp_path / "ada.pem", tmp_path / "ada.key"
    write_new(dict(zip((certificate, key), signing.client("ada"), strict=True)))
    trust = Trust(authority=authority, certificate=certificate, key=key)

    def asked(where: str) -> str:
        with AnalystClient(where, "token", timeout=PATIENCE, trust=trust) as client:
            try:
                client.budget("films")
            except Exception as error:
                return str(error)
        return ""

    async with serving(made(issuer, client_authority=authority)) as where:
        told = await asyncio.to_thread(asked, where)
    served = "there is no such service there: it was started without --tokens"
    assert (told == served) == (whose == "the authority"), told


def test_an_analysts_own_key_is_kept_from_others(tmp_path: Path, issuer: Issuer) -> None:
    certificate, key = tmp_path / "ada.pem", tmp_path / "ada.key"
    write_new(dict(zip((certificate, key), issuer.client("ada"), strict=True)))
    key.chmod(0o644)
    with pytest.raises(AccessError, match="mode 0600"):
        AnalystClient("127.0.0.1:1", "token", trust=Trust(certificate=certificate, key=key))
    with pytest.raises(AccessError, match="a certificate needs its key"):
        AnalystClient("127.0.0.1:1", "token", trust=Trust(certificate=certificate))


# -- certificates that are exchanged --------------------------------------------------------------


async def shown_by(where: str) -> int:
    """The serial number of the certificate that a new handshake gets."""

    def look() -> int:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        host, _, port = where.rpartition(":")
        with (
            socket.create_connection((host, int(port)), timeout=PATIENCE) as plain,
            context.wrap_socket(plain) as secret,
        ):
            shown = secret.getpeercert(binary_form=True)
        assert shown
        return x509.load_der_x509_certificate(shown).serial_number

    return await asyncio.to_thread(look)


def serial_of(tls: Tls) -> int:
    return x509.load_pem_x509_certificate(tls.certificate.read_bytes()).serial_number


async def test_a_new_handshake_gets_the_new_certificate_and_old_connections_live_on(
    issuer: Issuer, authority: Path, made: MakeFiles
) -> None:
    """Without a restart. Planted bug: files that are read once."""
    tls = made(issuer)
    async with (
        serving(tls) as where,
        GrpcTransport(where, PATIENCE, str(authority)) as old,
    ):
        await card_of(old)
        first = await shown_by(where)
        made(issuer)
        assert (first, await shown_by(where)) == (first, serial_of(tls))
        assert first != serial_of(tls)
        assert old.channel.get_state() is grpc.ChannelConnectivity.READY
        assert await card_of(old) == b"a card"
        async with GrpcTransport(where, PATIENCE, str(authority)) as new:
            assert await card_of(new) == b"a card"


def half_exchanged(tls: Tls, issuer: Issuer) -> None:
    tls.certificate.write_bytes(issuer.server(("127.0.0.1",))[0])


def cut_off(tls: Tls, issuer: Issuer) -> None:
    tls.certificate.write_bytes(tls.certificate.read_bytes()[:100])


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


def taken_away(tls: Tls, issuer: Issuer) -> None:
    tls.key.unlink()


def expired(tls: Tls, issuer: Issuer) -> None:
    replaced(tls, Issuer(LONG_AGO, days=1))


def to_come(tls: Tls, issuer: Issuer) -> None:
    replaced(tls, Issuer(AHEAD, days=1))


def replaced(tls: Tls, by: Issuer) -> None:
    for path, content in zip((tls.certificate, tls.key), by.server(("127.0.0.1",)), strict=True):
        path.write_bytes(content)


def laid_open(tls: Tls, issuer: Issuer) -> None:
    tls.key.chmod(0o644)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (half_exchanged, "is not that of the certificate"),
        (cut_off, "holds no certificate in PEM"),
        (damaged, "holds no certificate in PEM"),
        (of_no_kind, "holds no private key in PEM"),
        (taken_away, "cannot be read: No such file or directory"),
        (laid_open, "must be a regular file of mode 0600"),
        (expired, "server.pem expired on"),
        (to_come, "server.pem is not valid before"),
    ],
)
async def test_what_is_no_use_leaves_the_old_certificate_and_one_line(
    spoil: Callable[[Tls, Issuer], None], reason: str, issuer: Issuer, made: MakeFiles
) -> None:
    """And what comes after it is shown: nobody restarts a server for a file half written."""
    told, tls = io.StringIO(), made(issuer)
    before = serial_of(tls)
    async with serving(tls, told) as where:
        spoil(tls, issuer)
        for _ in range(3):
            assert await shown_by(where) == before
        (line,) = told.getvalue().splitlines()
        assert "ERROR certificates_refused" in line
        assert reason in line
        made(issuer)
        assert await shown_by(where) == serial_of(tls) != before


# -- the start ------------------------------------------------------------------------------------


def test_a_certificate_that_names_no_host_is_refused(issuer: Issuer, made: MakeFiles) -> None:
    """Planted bug: a server that starts, and that no device believes."""
    with pytest.raises(AccessError, match="names no host: callers look at subjectAltName alone"):
        read_identity(made(issuer, hosts=()))


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_key_that_others_can_read_is_refused_at_the_start(
    mode: int, issuer: Issuer, made: MakeFiles
) -> None:
    tls = made(issuer)
    tls.key.chmod(mode)
    with pytest.raises(AccessError, match="must be a regular file of mode 0600"):
        Certificates(tls, pytest.fail)


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
    Certificates(tls, pytest.fail)
    for mode in (0o460, 0o444):
        tls.key.chmod(mode)
        with pytest.raises(AccessError, match="mode 0600"):
            Certificates(tls, pytest.fail)


def test_half_a_pair_is_refused_at_the_start_with_one_line_and_exit_code_1(
    issuer: Issuer,
    made: MakeFiles,
    directory: Path,
    run: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    tls = made(issuer)
    half_exchanged(tls, issuer)
    named = ("--tls-certificate", tls.certificate, "--tls-key", tls.key)
    assert run("serve", "--model", directory, "--port", 0, *named) == 1
    assert capsys.readouterr().err == (
        f"askew-server: the key {tls.key} is not that of the certificate {tls.certificate}\n"
    )


@pytest.mark.parametrize(
    ("since", "said"), [(LONG_AGO, "expired on"), (AHEAD, "is not valid before")]
)
def test_a_certificate_out_of_its_time_is_refused_at_the_start(
    since: datetime.datetime,
    said: str,
    made: MakeFiles,
    run: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every device would refuse it."""
    tls = made(Issuer(since, days=1))
    named = ("--tls-certificate", tls.certificate, "--tls-key", tls.key)
    assert run("serve", "--demo", "--port", 0, *named) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"askew-server: the certificate {tls.certificate} {said} 20")


def test_a_certificate_to_come_is_shown_from_its_beginning_on(
    issuer: Issuer, made: MakeFiles
) -> None:
    """Without another exchange of files. Planted bug: files that were refused once and for all."""
    now, told = NOW, list[str]()
    tls = made(issuer)
    certificates = Certificates(tls, told.append, lambda: now)
    old = certificates.identity
    to_come(tls, issuer)
    for _ in range(3):
        assert certificates.renewed() is None
    now = AHEAD + datetime.timedelta(hours=1)
    found = certificates.renewed()
    assert found is certificates.identity is not old
    assert len(told) == 1


def test_the_days_that_are_left_are_those_of_what_is_shown(issuer: Issuer, made: MakeFiles) -> None:
    """Planted bug: of a new certificate that was refused."""
    now = NOW
    tls = made(issuer)
    certificates = Certificates(tls, lambda _: None, lambda: now)
    assert certificates.days_left == pytest.approx(1, abs=0.01)
    to_come(tls, issuer)
    now += datetime.timedelta(hours=36)
    assert certificates.renewed() is None
    assert certificates.days_left == pytest.approx(-0.5, abs=0.01)


def test_an_identity_never_shows_its_key(issuer: Issuer, made: MakeFiles) -> None:
    tls = made(issuer)
    secret = tls.key.read_text().splitlines()[1]
    assert secret not in json.dumps(repr(read_identity(tls)))


def shown_by_http(port: int, trust: ssl.SSLContext) -> int:
    """The serial number of the certificate of HTTP, which answers. Raises ssl.SSLError."""
    with (
        socket.create_connection(("127.0.0.1", port), PATIENCE) as plain,
        trust.wrap_socket(plain, server_hostname="127.0.0.1") as secret,
    ):
        found = secret.getpeercert(binary_form=True)
        secret.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        if not secret.recv(1000).startswith(b"HTTP/1.1 404 "):
            raise ConnectionResetError  # TLS 1.3 refuses a caller after its handshake
    assert found is not None
    return x509.load_der_x509_certificate(found).serial_number


@asynccontextmanager
async def two_doors(tls: Tls) -> AsyncIterator[tuple[str, int]]:
    """Where gRPC is spoken, and the port of HTTP."""
    server = RunningServer([Pieces()], ServerConfig(tls=tls, http=Http()))
    await server.start()
    try:
        assert server.http is not None
        yield f"127.0.0.1:{server.port}", server.http.port
    finally:
        await server.stop(grace=0)


@pytest.mark.parametrize("http_first", [True, False])
async def test_http_shows_the_same_certificate_and_its_successor(
    issuer: Issuer, authority: Path, made: MakeFiles, *, http_first: bool
) -> None:
    """Whichever door sees the change. Planted bug: the first that looks keeps it from the other."""
    trust = ssl.create_default_context(cafile=str(authority))
    tls = made(issuer)
    async with two_doors(tls) as (where, port):
        first = await asyncio.to_thread(shown_by_http, port, trust)
        assert first == serial_of(tls) == await shown_by(where)
        made(issuer)
        if http_first:
            assert await asyncio.to_thread(shown_by_http, port, trust) == serial_of(tls)
        assert await shown_by(where) == serial_of(tls) != first
        assert await asyncio.to_thread(shown_by_http, port, trust) == serial_of(tls)
        with pytest.raises(ssl.SSLError):
            await asyncio.to_thread(shown_by_http, port, ssl.create_default_context())


async def test_http_asks_for_a_callers_certificate_where_grpc_does(
    issuer: Issuer, authority: Path, made: MakeFiles, tmp_path: Path
) -> None:
    trust = ssl.create_default_context(cafile=str(authority))
    own = tmp_path / "caller.pem", tmp_path / "caller.key"
    write_new(dict(zip(own, issuer.client("caller"), strict=True)))
    async with two_doors(made(issuer, client_authority=authority)) as (_, port):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.to_thread(shown_by_http, port, trust)
        trust.load_cert_chain(*own)
        assert await asyncio.to_thread(shown_by_http, port, trust)

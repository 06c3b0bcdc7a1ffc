"""`askew-server check` and `askew-server certs`, as an operator types them."""

from __future__ import annotations

import datetime
import ipaddress
import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from askew_server.cli import check
from askew_server.ledger import Ledger
from askew_server.serving.bearer import create_key
from askew_server.serving.certificates import Issuer
from askew_server.serving.settings import KEYS, Tls

Run = Callable[..., int]
MakeFiles = Callable[..., Tls]
Tell = Callable[..., tuple[int, str]]
NOW = datetime.datetime.now(datetime.UTC)
DEMO = {"models_demo": "films"}


@pytest.fixture
def tell(run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tell:
    """The exit code and the lines of a check, of a file or of settings in the environment."""

    def check(config: Path | None = None, **settings: object) -> tuple[int, str]:
        for key in KEYS:
            if key.parameter in settings:
                monkeypatch.setenv(key.variable, str(settings[key.parameter]))
        code = run("check", *(["--config", config] if config else []))
        return code, capsys.readouterr().out

    return check


def certified(tls: Tls) -> dict[str, object]:
    return {"tls_certificate": tls.certificate, "tls_key": tls.key}


def everything_in(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {
        str(each): (each.read_bytes(), each.stat().st_mtime_ns, each.stat().st_mode)
        for each in found
    }


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path, tmp_path / "mark"):
        pass
    return path


def test_a_variable_that_no_setting_has_is_named_without_its_value(
    tell: Tell, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKEW_SERVER_PROCESES", "secret")
    monkeypatch.setenv("ASKEW_SERVER_GRACE", "3")
    code, said = tell(models_directories=directory)
    assert code == 0
    [line] = [each for each in said.splitlines() if "environment: " in each]
    assert line.endswith("ASKEW_SERVER_PROCESES is no setting (perhaps ASKEW_SERVER_PROCESSES)")
    assert "secret" not in said


def test_all_that_is_in_order_has_a_line_each_and_nothing_is_changed(  # noqa: PLR0917
    tell: Tell, tmp_path: Path, directory: Path, ledger: Path, issuer: Issuer, made: MakeFiles
) -> None:
    tls = made(issuer, ("recommend.example.org", "192.0.2.7"))
    create_key(tmp_path / "analysts.key")
    path = tmp_path / "server.toml"
    path.write_text(
        f"""
        [server]
        host = "0.0.0.0"
        [models]
        directories = ["{directory}"]
        [releases]
        ledger = "{ledger}"
        [analysts]
        token_key = "{tmp_path}/analysts.key"
        dataset = "films"
        events = "log.parquet"
        [tls]
        certificate = "{tls.certificate}"
        key = "{tls.key}"
        [metrics]
        port = 9100
        """
    )
    before = everything_in(tmp_path)
    code, told = tell(path)
    until = f"{NOW + datetime.timedelta(days=1):%Y-%m-%d}"
    hosts = "recommend.example.org, 192.0.2.7"
    assert told.splitlines() == [
        f"ok    configuration: {path}, 9 settings said",
        "ok    listening: TLS on 0.0.0.0, port 7571",
        "ok    metrics: numbers on 127.0.0.1, port 9100",
        f"warn  certificate: {tls.certificate}, until {until}, for {hosts}, and its key fits",
        f"ok    model: {directory}: 24 items, ratings of 60 people",
        f"ok    releases: {ledger} can be read, and has 0",
        f"ok    analysts: tokens of {tmp_path}/analysts.key, about films",
    ]
    assert (code, everything_in(tmp_path)) == (0, before)


def test_a_certificate_of_months_is_no_warning(tell: Tell, made: MakeFiles) -> None:
    code, told = tell(models_demo="films", **certified(made(Issuer(NOW, days=90))))
    assert (code, "ok    certificate" in told) == (0, True)


@pytest.mark.parametrize(
    ("since", "words"), [(-40, "expired: "), (40, f"not valid before {NOW:%Y}")]
)
def test_a_certificate_out_of_its_time_is_wrong(
    since: int, words: str, tell: Tell, made: MakeFiles
) -> None:
    tls = made(Issuer(NOW + datetime.timedelta(days=since), days=1))
    code, told = tell(models_demo="films", **certified(tls))
    assert (code, f"fail  certificate: {words[:8]}" in told) == (1, True), told


def test_every_fault_is_found_in_one_run(
    tell: Tell, tmp_path: Path, issuer: Issuer, made: MakeFiles
) -> None:
    tls = made(issuer)
    tls.key.chmod(0o644)
    (tmp_path / "key").write_bytes(b"short")
    (tmp_path / "key").chmod(0o600)
    code, told = tell(
        models_directories=f"{tmp_path / 'nowhere'} {tmp_path}@2026-11-24",
        releases_ledger=tmp_path / "no-ledger",
        analysts_token_key=tmp_path / "key",
        analysts_dataset="films",
        analysts_events="log",
        server_host="192.0.2.1",
        metrics_port=7571,
        **certified(tls),
    )
    lines = told.splitlines()
    assert code == 1
    assert [line for line in lines if not line.startswith("fail")] == [lines[0]]
    for words in (
        "listening: this machine has no address 192.0.2.1",
        "metrics: port 7571 is the server's own",
        f"certificate: the key file {tls.key} must be a regular file of mode 0600",
        "model: model must be a Monday",
        f"releases: there is no ledger {tmp_path}/no-ledger",
        f"analysts: the key file {tmp_path}/key must hold exactly 32 bytes",
    ):
        assert any(words in line for line in lines), words


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"models_directories": "nowhere"}, "fail  model: nowhere/manifest.json cannot be read"),
        ({"models_folder": "nowhere"}, "fail  model: nowhere cannot be read"),
        ({"models_folder": "."}, "fail  model: . has none that is named by a Monday"),
        ({}, "fail  served: nothing: name a model, a demo, or a ledger of releases"),
        (DEMO | {"server_host": "0.0.0.0"}, "fail  configuration: plain text is not spoken on"),
        (
            DEMO | {"server_host": "no.invalid", "server_plain_text": True},
            "fail  listening: this machine has",
        ),
        (DEMO | {"server_host": "[::1]"}, "fail  listening: this machine has no address [::1]"),
        (
            DEMO | {"metrics_port": 7570, "server_processes": 2},
            "fail  metrics: one of the ports 7570 to 7571 is the server's own",
        ),
        (
            DEMO | {"metrics_port": 65535, "server_processes": 2},
            "fail  configuration: metrics.port must be at most 65534, with 2 processes",
        ),
    ],
)
def test_what_no_server_could_start_with_is_wrong(
    settings: dict[str, object],
    words: str,
    tell: Tell,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, told = tell(**settings)
    assert (code, words in told) == (1, True), told


def test_a_folder_of_models_is_read(tell: Tell, directory: Path) -> None:
    directory.rename(directory.with_name("2026-11-23"))
    code, told = tell(models_folder=directory.parent)
    assert (code, "2026-11-23: 24 items" in told) == (0, True), told


def test_a_port_that_needs_a_privilege_is_a_warning(
    tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "start").write_text("1024\n")
    monkeypatch.setattr(check, "_FIRST_FREE", tmp_path / "start")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    code, told = tell(**DEMO, server_port=443)
    assert "warn  listening: port 443 needs a privilege: those from 1024 on do not" in told
    assert code == 0
    assert "privilege" not in tell(server_port=1024)[1]


def test_the_effective_configuration_is_a_file_of_its_own_and_tells_no_secret(
    run: Run,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each value with who said it; printed again from itself, all of it comes from a file."""
    monkeypatch.setenv("ASKEW_ENGINE", "postgresql://ada:xyzzy@host/films")
    monkeypatch.setenv("ASKEW_SERVER_ANSWERS_THREADS", "3")
    path = tmp_path / "server.toml"
    path.write_text('[server]\nport = 9000\nproxies = ["10.0.0.0/8"]\n')
    run("check", "--config", path, "--print")
    printed = capsys.readouterr()
    assert "xyzzy" not in printed.out + printed.err
    for line in (
        "port = 9000  # file",
        'proxies = ["10.0.0.0/8"]  # file',
        "threads = 3  # environment",
        "grace = 5.0  # default",
        "# Port; 0 takes a free one.",
        "# engine is set by environment, and not shown",
        "# popularity is not set",
    ):
        assert line in printed.out.splitlines()
    monkeypatch.delenv("ASKEW_SERVER_ANSWERS_THREADS")
    path.write_text(printed.out)
    run("check", "--config", path, "--print")
    again = capsys.readouterr().out
    assert tomllib.loads(again) == tomllib.loads(printed.out)
    assert "# environment" not in again.replace("# engine is set by environment", "")


# -- certificates to develop with -----------------------------------------------------------------


def test_certificates_for_development_fit_together_and_keys_are_private(
    run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "dev"
    hosts = ("--host", "server.test", "--host", "127.0.0.1")
    assert run("certs", folder, *hosts, "--client", "ada") == 0
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert {name for name, mode in modes.items() if mode == 0o600} == {
        "authority.key",
        "server.key",
        "client.key",
    }
    authority, server, client = (
        x509.load_pem_x509_certificate((folder / f"{name}.pem").read_bytes())
        for name in ("authority", "server", "client")
    )
    for each in (server, client):
        each.verify_directly_issued_by(authority)
        assert isinstance(key := each.public_key(), ec.EllipticCurvePublicKey)
        assert isinstance(key.curve, ec.SECP256R1)
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert list(names) == [
        x509.DNSName("server.test"),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    ]
    assert usage_of(server) == {ExtendedKeyUsageOID.SERVER_AUTH}
    assert usage_of(client) == {ExtendedKeyUsageOID.CLIENT_AUTH}


def usage_of(certificate: x509.Certificate) -> set[x509.ObjectIdentifier]:
    return set(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)


@pytest.mark.parametrize("there", ["authority.pem", "server.key"])
def test_no_file_is_overwritten_and_then_none_is_made(
    there: str, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / there).write_text("mine")
    assert run("certs", tmp_path) == 1
    assert f"{tmp_path / there} is there already and was left alone" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--host", "bücher.test"), "a host name or an address"),
        (("--host", "localhost:7571"), "without a port"),
        (("--host", "a b"), "a host name or an address"),
        (("--host", ""), "a host name or an address"),
        (("--client", ""), "a name of 1 to 64 characters"),
    ],
)
def test_what_no_certificate_can_say_is_wrong_usage_and_makes_nothing(
    arguments: tuple[object, ...],
    words: str,
    run: Run,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "dev"
    assert run("certs", folder, *arguments) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert not folder.exists()


def test_nothing_that_check_says_is_more_than_a_line(tell: Tell, tmp_path: Path) -> None:
    """A file's text goes into a line as it would be typed. Planted bug: as it is."""
    path = tmp_path / "server.toml"
    path.write_text(f"[server]\nhost = {json.dumps(chr(27) + '[2J' + chr(10) + 'ok')}\n")
    _, told = tell(path)
    assert all(line[:4] in {"ok  ", "warn", "fail"} for line in told.splitlines())
    assert "\x1b" not in told

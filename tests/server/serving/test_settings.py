"""Settings of a server: each one reaches the configuration, and a command refuses wrong ones."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click
import pytest

from askew.errors import ConfigError
from askew.settings import SWITCH, Setting
from askew_server.cli import serve as serving
from askew_server.serving.settings import KEYS, ServerConfig

COMMANDS = {"serve": serving._SERVE, "serve-releases": serving._RELEASES}
Shown = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in KEYS:
        for name in filter(None, (key.variable, key.shared)):
            monkeypatch.delenv(name, raising=False)


@pytest.fixture
def refusal(run: Any, capsys: Shown) -> Any:
    """What a command says when it takes no configuration."""

    def refused(*words: object) -> str:
        assert run(*words) == 2
        shown = capsys.readouterr()
        assert "secret" not in shown.out + shown.err
        return " ".join(shown.err.split())

    return refused


def values_of(key: Setting) -> tuple[Any, Any]:
    """Two values, neither of which is the setting's default."""
    if key.kind is SWITCH:
        return True, False
    if key.name == "models.demo":
        return "places", "films"
    if key.kind.metavar in {"INTEGER", "NUMBER"}:
        return "4", "5"
    return ("https://example.org", "*") if "origin" in key.kind.words else ("10.0.0.7", "fd00::/8")


def file_with(folder: Path, *lines: str) -> Path:
    path = folder / "server.toml"
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_every_setting_reaches_the_configuration(
    key: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its variable, of a command that takes it. Planted bug: a key that no command takes."""
    needs = ["RELEASES_LEDGER", "ANALYSTS_TOKENS", "ANALYSTS_DATASET", "ANALYSTS_EVENTS"]
    needs += ["TLS_CERTIFICATE", "TLS_KEY"] if key.name != "server.plain_text" else []
    for name in needs:
        monkeypatch.setenv(f"ASKEW_SERVER_{name}", "text")
    for value in values_of(key):
        monkeypatch.setenv(key.variable, str(value).lower())
        configurations = [command.configuration(None, {}) for command in COMMANDS.values()]
        assert key.of(value, "") in [getattr(each, key.parameter) for each in configurations]


def test_an_option_beats_a_variable_and_a_variable_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As click parses it, for a setting of each kind."""
    settings = COMMANDS["serve"]
    found: list[Any] = []

    @click.command()
    @settings.options
    def command(*, config: Path | None, **flags: object) -> None:
        chosen = settings.configuration(config, flags)
        found.append((chosen.port, chosen.plain_text, chosen.models_folder))

    lines = ("server.port = 1", "server.plain_text = true", "models.folder = 'a'")
    path = file_with(tmp_path, *lines)
    monkeypatch.setenv("ASKEW_SERVER_CONFIG", str(path))
    command([], standalone_mode=False)
    monkeypatch.setenv("ASKEW_SERVER_PORT", "2")
    command(["--no-plain-text"], standalone_mode=False)
    command(["--port", "3", "--models", "b"], standalone_mode=False)
    assert found == [(1, True, Path("a")), (2, False, Path("a")), (3, True, Path("b"))]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_takes_the_file_of_another(name: str, tmp_path: Path) -> None:
    """One file may say all; each command takes what is its own."""
    lines = ["server.port = 9000", "releases.popularity = 2", "releases.ledger = 'ledger'"]
    lines += [f"analysts.{need} = 'films'" for need in ("dataset", "events", "tokens")]
    chosen = COMMANDS[name].configuration(file_with(tmp_path, *lines), {})
    assert (chosen.port, chosen.releases_ledger) == (9000, Path("ledger"))
    own = (chosen.http, chosen.analysts_dataset, chosen.releases_popularity)
    assert own == ((True, None, 2) if name == "serve" else (False, "films", None))


def test_a_variable_of_the_operators_other_commands_is_not_the_public_servers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who set ASKEW_LEDGER to look at it has not said that it should be served beside a model."""
    monkeypatch.setenv("ASKEW_LEDGER", "mine")
    public, operators = (COMMANDS[name].configuration(None, {}) for name in COMMANDS)
    assert (public.releases_ledger, operators.releases_ledger) == (None, Path("mine"))


def test_no_server_starts_with_anything_wrong_and_all_of_it_is_said(
    tmp_path: Path, refusal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even in what another command would take: half a file is no configuration.

    Planted bugs: a misspelt limit that nothing reads, and a server without it; a password that is
    repeated.
    """
    engine = 'analysts.engine = "postgresql://ada:secret@host\\t"'
    path = file_with(tmp_path, "servr.port = 1", engine)
    monkeypatch.setenv("ASKEW_SERVER_PROT", "secret")
    said = refusal("serve", "--config", path)
    assert "ASKEW_SERVER_PROT is no setting (perhaps ASKEW_SERVER_PORT)" in said
    assert f"'servr.port' is no setting ({path}) (perhaps server.port" in said
    assert f"analysts.engine ({path}) must be text, got something else" in said
    monkeypatch.delenv("ASKEW_SERVER_PROT")
    said = refusal("serve-releases", "--engine", "duckdb:secret\t")
    assert "--engine must be text, got something else" in said


def test_a_file_that_is_none_is_wrong_usage_and_not_repeated(tmp_path: Path, refusal: Any) -> None:
    assert "cannot be read: No such file" in refusal("serve", "--config", tmp_path / "none")
    path = file_with(tmp_path, "engine = postgresql://ada:secret@host")
    assert "must be a file in TOML" in refusal("serve", "--config", path)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("serve --tls-key k", "TLS needs both --tls-certificate and --tls-key"),
        ("serve --plain-text --tls-certificate c --tls-key k", "exclude each other"),
        ("serve --popularity 1", "--popularity names a release of the ledger in --ledger"),
        ("serve --model m --demo", "--model DIR, --models FOLDER or --demo"),
        ("serve-releases --tokens t --dataset d", "analysts need all of --tokens, --dataset and"),
        ("serve-releases --events e", "analysts need all of --tokens, --dataset and --events"),
    ],
)
def test_what_does_not_go_together_is_wrong_usage(arguments: str, words: str, refusal: Any) -> None:
    assert words in refusal(*arguments.split())


@pytest.mark.parametrize("command", ["serve --demo --host 192.0.2.1", "serve-releases --host ::"])
def test_plain_text_is_not_spoken_where_others_listen(
    command: str, refusal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is read. Planted bug: loopback is whatever is no public address."""
    monkeypatch.setattr(asyncio, "run", lambda _: pytest.fail("plain text"))
    said = refusal(*command.split())
    assert "plain text is not spoken on" in said
    assert "--tls-certificate and --tls-key, or, behind a TLS proxy, --plain-text" in said
    for host in ("0.0.0.0", "server.example.org"):
        with pytest.raises(ConfigError):
            ServerConfig(host=host)
    for host in ("127.0.0.1", "::1", "localhost"):
        assert ServerConfig(host=host).tls_key is None
    assert ServerConfig(host="0.0.0.0", plain_text=True).tls_key is None

"""Settings of a server: each one reaches the configuration, and a command refuses wrong ones."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest

from askew.settings import Number, OneOf, Setting, Switch, Text, ValueKind, Whole
from askew_server.cli import serve as serving
from askew_server.cli import serve_releases
from askew_server.serving.settings import (
    BY_NAME,
    KEYS,
    Configuration,
    Http,
    configuration_of,
    read_file,
)

SETTINGS = {"serve": serving._SETTINGS, "serve-releases": serve_releases._SETTINGS}


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in KEYS:
        for name in filter(None, (key.variable, key.shared)):
            monkeypatch.delenv(name, raising=False)


def values_of(kind: ValueKind) -> tuple[Any, Any]:
    """Two values, neither of which is any setting's default."""
    match kind:
        case Whole():
            return kind.least + 3, kind.least + 4
        case Number():
            return kind.least + 1.25, kind.least + 2.25
        case Switch():
            return True, False
        case OneOf():
            return kind.names[1], kind.names[0]
        case Text() if "origin" in kind.words:
            return "https://example.org", "*"
    return "10.0.0.7", "fd00::/8"


def file_with(folder: Path, **tables: Any) -> Path:
    """A configuration of these values by table and name."""
    path = folder / "server.toml"
    lines = [
        line
        for table, values in tables.items()
        for line in (f"[{table}]", *(f"{n} = {json.dumps(v)}" for n, v in values.items()))
    ]
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_every_setting_reaches_the_configuration(key: Setting) -> None:
    """Planted bug: a key of the table that nothing is made of."""
    first, second = (
        _plain(key, key.of([value] if key.several else value)) for value in values_of(key.kind)
    )
    assert first != second


def _plain(key: Setting, value: Any) -> Configuration:
    """A configuration in which one thing was said, beside what it needs."""
    needs: dict[str, Any] = {"tls.certificate": Path("c"), "tls.key": Path("k")}
    if key.name == "server.plain_text":
        needs = {}
    if key.name == "releases.popularity":
        needs["releases.ledger"] = Path("ledger")
    if key.name.startswith("analysts."):
        needs |= {"analysts.tokens": Path("t"), "analysts.dataset": "d", "analysts.events": "e"}
    return configuration_of(needs | {key.name: value})


def test_without_a_word_the_configuration_is_its_classes_own() -> None:
    """But for the door for HTTP, which a command has whose settings name it."""
    found = configuration_of({key.name: key.default for key in KEYS})
    assert found.server.http == Http()
    assert replace(found, server=replace(found.server, http=None)) == configuration_of({})


def test_the_table_has_a_variable_and_a_meaning_for_each_and_few_flags() -> None:
    assert len({key.name for key in KEYS}) == len({key.variable for key in KEYS}) == len(KEYS)
    assert BY_NAME["server.port"].variable == "ASKEW_SERVER_PORT"
    assert BY_NAME["tls.key"].variable == "ASKEW_SERVER_TLS_KEY"
    assert all(key.help for key in KEYS)


def test_an_option_beats_a_variable_and_a_variable_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As click parses it, for a setting of each kind."""
    settings = SETTINGS["serve"]
    found: list[Any] = []

    @click.command()
    @settings.options
    def command(*, config: Path | None, **flags: object) -> None:
        chosen = settings.configuration(config, flags)
        found.append((chosen.server.port, chosen.server.plain_text, chosen.models.folder))

    path = file_with(tmp_path, server={"port": 1, "plain_text": True}, models={"folder": "a"})
    monkeypatch.setenv("ASKEW_SERVER_CONFIG", str(path))
    command([], standalone_mode=False)
    monkeypatch.setenv("ASKEW_SERVER_PORT", "2")
    command(["--no-plain-text"], standalone_mode=False)
    command(["--port", "3", "--models", "b"], standalone_mode=False)
    assert found == [(1, True, Path("a")), (2, False, Path("a")), (3, True, Path("b"))]


@pytest.mark.parametrize("name", ["serve", "serve-releases"])
def test_a_command_takes_the_file_of_another(name: str, tmp_path: Path) -> None:
    """One file may say all; each command takes what is its own."""
    path = file_with(
        tmp_path,
        server={"port": 9000, "grace": 3},
        releases={"popularity": 2, "ledger": "ledger"},
        analysts={"dataset": "films", "events": "log", "tokens": "tokens"},
        answers={"threads": 9},
    )
    chosen = SETTINGS[name].configuration(path, {})
    assert (chosen.server.port, chosen.server.answers.threads) == (9000, 9)
    assert chosen.releases.ledger == Path("ledger")
    assert (chosen.analysts.dataset, chosen.releases.popularity) == (
        (None, 2) if name == "serve" else ("films", None)
    )


def test_a_variable_of_the_operators_other_commands_is_not_the_public_servers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who set ASKEW_LEDGER to look at it has not said that it should be served beside a model."""
    monkeypatch.setenv("ASKEW_LEDGER", "mine")
    found = {name: each.configuration(None, {}).releases.ledger for name, each in SETTINGS.items()}
    assert found == {"serve": None, "serve-releases": Path("mine")}


# -- refusals -------------------------------------------------------------------------------------


def test_a_wrong_variable_is_wrong_usage_and_names_itself(
    run: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKEW_SERVER_PORT", "7x")
    assert run("serve", "--demo") == 2
    line = " ".join(capsys.readouterr().err.split())
    limit = "a whole number from 0 to 65535"
    assert f"server.port (ASKEW_SERVER_PORT) must be {limit}, got '7x'" in line


def test_a_variable_that_no_setting_has_is_wrong_usage_and_its_value_is_not_repeated(
    run: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a misspelt limit that nothing reads, and a server without it."""
    monkeypatch.setenv("ASKEW_SERVER_PROT", "secret")
    monkeypatch.setenv("ASKEW_SERVER_GRACE", "3")
    assert run("serve", "--demo") == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "ASKEW_SERVER_PROT is no setting (perhaps ASKEW_SERVER_PORT)" in told
    assert "secret" not in told
    assert "GRACE" not in told


@pytest.mark.parametrize("command", ["serve", "serve-releases"])
def test_no_server_starts_with_a_file_that_is_wrong_anywhere(
    command: str, tmp_path: Path, run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Even in what another command would take: half a file is no configuration."""
    path = file_with(tmp_path, models={"demo": "film"}, answers={"threads": 0}, servr={"port": 1})
    assert run(command, "--config", path) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"models.demo ({path}) must be one of films, places, got 'film'" in told
    assert f"answers.threads ({path}) must be a whole number from 1 to 1000000000, got 0" in told
    assert f"'servr.port' is no setting ({path}) (perhaps server.port)" in told


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"engine = postgresql://ada:secret@host", "must be a file in TOML"),
    ],
)
def test_a_file_that_is_none_is_wrong_usage_and_not_repeated(
    content: bytes | None,
    reason: str,
    tmp_path: Path,
    run: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "server.toml"
    if content is not None:
        path.write_bytes(content)
    assert run("serve", "--config", path) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert reason in told
    assert "secret" not in told


@pytest.mark.parametrize("value", ["postgresql://ada:secret@host\t", ["secret"]])
def test_a_wrong_value_that_may_hold_a_password_is_not_repeated(
    value: object, tmp_path: Path, run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_with(tmp_path, analysts={"engine": value})
    assert run("serve-releases", "--config", path) == 2
    told = capsys.readouterr()
    assert "must be text, got something else" in told.err
    assert "secret" not in told.err
    run("serve-releases", "--engine", "postgresql://ada:secret@host\t")
    told = capsys.readouterr()
    assert "it must be text" in told.err
    assert "secret" not in told.out + told.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tls-key", "k"], "TLS needs both --tls-certificate and --tls-key"),
        (
            ["--plain-text", "--tls-certificate", "c", "--tls-key", "k"],
            "--plain-text and a certificate exclude each other",
        ),
        (["--popularity", "1"], "--popularity names a release of the ledger in --ledger"),
        (["--model", "m", "--demo"], "--model DIR, --models FOLDER or --demo"),
    ],
)
def test_what_does_not_go_together_is_wrong_usage(
    arguments: list[str], words: str, run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("serve", *arguments) == 2
    assert words in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "server.example.org"])
@pytest.mark.parametrize("command", ["serve", "serve-releases"])
def test_plain_text_is_not_spoken_where_others_listen(
    host: str,
    command: str,
    run: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before anything is read. Planted bug: loopback is whatever is no public address."""
    monkeypatch.setattr(asyncio, "run", lambda _: pytest.fail("plain text"))
    demo = ["--demo"] if command == "serve" else []
    assert run(command, *demo, "--host", host) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"plain text is not spoken on {host}: name --tls-certificate and --tls-key, or" in told
    assert "behind a TLS proxy, --plain-text" in told


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_plain_text_is_spoken_on_this_machine(host: str) -> None:
    assert configuration_of({"server.host": host}).server.tls is None


def test_plain_text_is_spoken_anywhere_to_a_proxy_in_front() -> None:
    said = {"server.host": "0.0.0.0", "server.plain_text": True}
    assert configuration_of(said).server.tls is None


# -- documents ------------------------------------------------------------------------------------

PAGE = (Path(__file__).parents[3] / "docs" / "operations.md").read_text(encoding="utf-8")


def test_the_file_of_the_page_is_one(tmp_path: Path) -> None:
    block = re.search(r"^```toml\n(\[server\].*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert block
    path = tmp_path / "server.toml"
    path.write_text(block[1])
    found = read_file(path)
    assert (found.problems, len(found.values)) == ((), 5)

"""Settings of a server: one table, one precedence, and refusals that say what would be accepted."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import click
import pytest

from askew_server.cli.configured import configuration, settings
from askew_server.cli.main import cli
from askew_server.serving.grpc_server import RunningServer
from askew_server.serving.settings import (
    BY_NAME,
    KEYS,
    Choice,
    Configuration,
    Key,
    Kind,
    Network,
    Number,
    ServerConfig,
    Switch,
    Whole,
    configuration_of,
    read_file,
)

ALL = [pytest.param(key, id=key.name) for key in KEYS]


def named(name: str) -> click.Command:
    """A command, which is imported when it is asked for."""
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


CHECK = named("check")


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in KEYS:
        for name in filter(None, (key.variable, key.shared)):
            monkeypatch.delenv(name, raising=False)


def values_of(kind: Kind) -> tuple[Any, Any]:
    """Two values, neither of which is any setting's default."""
    match kind:
        case Whole():
            return kind.least + 3, kind.least + 4
        case Number():
            return kind.least + 1.25, kind.least + 2.25
        case Switch():
            return True, False
        case Choice():
            return kind.names[1], kind.names[0]
        case Network():
            return "10.0.0.7", "fd00::/8"
    return "one", "another"


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


def said_in(folder: Path, key: Key, value: object) -> Path:
    table, _, name = key.name.partition(".")
    return file_with(folder, **{table: {name: [value] if key.several else value}})


def found(key: Key, *arguments: object, command: click.Command = CHECK) -> tuple[str, str]:
    """What a setting comes to, as text, and who said it."""
    with command.make_context(command.name, list(map(str, arguments))) as context:
        value, origin = next((v, o) for each, v, o in settings(context) if each is key)
    return ",".join(map(str, value)) if key.several else str(value), origin


def flag_of(key: Key, value: object) -> list[object]:
    if isinstance(key.kind, Switch):
        return [key.all_flags[0] if value else f"--no-{key.all_flags[0].removeprefix('--')}"]
    return [key.all_flags[-1], value]


def in_environment(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("key", ALL)
def test_a_file_says_other_than_the_default(key: Key, tmp_path: Path) -> None:
    _, origin = found(key)
    first, _ = values_of(key.kind)
    assert (origin, found(key, "--config", said_in(tmp_path, key, first))) == (
        "default",
        (str(first), "file"),
    )


@pytest.mark.parametrize("key", ALL)
def test_the_environment_beats_the_file(
    key: Key, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = values_of(key.kind)
    monkeypatch.setenv(key.variable, in_environment(second))
    path = said_in(tmp_path, key, first)
    assert found(key, "--config", path) == (str(second), "environment")


@pytest.mark.parametrize("key", ALL)
def test_a_flag_beats_the_environment_and_the_file(
    key: Key, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = values_of(key.kind)
    monkeypatch.setenv(key.variable, in_environment(first))
    arguments = ["--config", said_in(tmp_path, key, first), *flag_of(key, second)]
    assert found(key, *arguments) == (str(second), "flag")


@pytest.mark.parametrize("key", ALL)
def test_every_setting_reaches_the_configuration(key: Key) -> None:
    """Planted bug: a key of the table that nothing is made of."""
    first, second = (
        _plain(key, (value,) if key.several else _typed(key, value))
        for value in values_of(key.kind)
    )
    assert first != second


def _typed(key: Key, value: Any) -> Any:
    return key.kind.of_text(value) if isinstance(value, str) else value


def _plain(key: Key, value: Any) -> Configuration:
    """A configuration in which one thing was said, beside what it needs."""
    needs: dict[str, Any] = {"tls.certificate": Path("c"), "tls.key": Path("k")}
    if key.name == "server.plain_text":
        needs = {}
    if key.name == "server.host":
        needs["tls.client_authority"] = None
    if key.name == "releases.popularity":
        needs["releases.ledger"] = Path("ledger")
    if key.name.startswith("analysts."):
        needs |= {"analysts.token_key": Path("t"), "analysts.dataset": "d", "analysts.events": "e"}
    return configuration_of(needs | {key.name: value})


@pytest.mark.parametrize("table", ["limits", "answers", "analysts"])
def test_every_limit_is_a_setting(table: str) -> None:
    """One that is added to the class is one by itself."""
    limits = vars(getattr(ServerConfig(), table))
    assert {name: BY_NAME[f"{table}.{name}"].default for name in limits} == limits


def test_without_a_word_the_configuration_is_its_classes_own() -> None:
    with CHECK.make_context("check", []) as context:
        said = {key.name: value for key, value, _ in settings(context)} | {"server.port": 0}
    assert configuration_of(said) == configuration_of({})


@pytest.mark.parametrize("name", ["serve", "serve-releases"])
def test_a_command_takes_the_file_of_another(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file may say all; each command takes what is its own."""
    path = file_with(
        tmp_path,
        server={"port": 9000, "processes": 3},
        releases={"popularity": 2, "ledger": "ledger"},
        analysts={"dataset": "films", "events": "log", "token_key": "key"},
        limits={"streams": 9},
    )
    monkeypatch.setenv("ASKEW_SERVER_CONFIG", str(path))
    command = named(name)
    with command.make_context(name, []) as context:
        chosen = configuration(context)
    assert (chosen.server.port, chosen.server.limits.streams) == (9000, 9)
    assert chosen.releases.ledger == Path("ledger")
    assert (chosen.analysts.dataset, chosen.releases.popularity) == (
        (None, 2) if name == "serve" else ("films", None)
    )


def test_a_variable_of_the_operators_other_commands_is_not_the_public_servers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who set ASKEW_LEDGER to look at it has not said that it should be served beside a model."""
    monkeypatch.setenv("ASKEW_LEDGER", "mine")
    ledger = BY_NAME["releases.ledger"]
    assert found(ledger, command=named("serve")) == ("None", "default")
    assert found(ledger, command=named("serve-releases")) == ("mine", "environment")


def test_no_connection_ends_before_the_longest_question_of_an_analyst() -> None:
    """Planted bug: one age for both servers, which cuts off a count of a large log."""
    command = named("serve-releases")
    with command.make_context("serve-releases", []) as context:
        server = configuration(context).server
    assert server.limits.age_grace >= server.analysts.longest


# -- refusals -------------------------------------------------------------------------------------

BAD: dict[type[Kind], tuple[object, ...]] = {
    Whole: (-7, 1 << 40, 1.5, "7x", True),
    Number: (-7, 1e12, "x", True, float("nan")),
    Switch: ("maybe", 2),
    Choice: ("another", 7),
    Network: ("10.0.0.1/8", "proxy.example.org", 7),
}
WRONG = [
    pytest.param(key, value, id=f"{key.name}-{value}")
    for key in KEYS
    for value in BAD.get(type(key.kind), (7, ""))
]


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_wrong_value_of_a_file_names_the_key_and_what_is_accepted(
    key: Key, value: object, tmp_path: Path, run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = said_in(tmp_path, key, value)
    if value != value:  # noqa: PLR0124 as TOML writes it
        path.write_text(path.read_text().replace("NaN", "nan"))
    assert run("check", "--config", path) == 1
    line = capsys.readouterr().out.splitlines()[0]
    assert line.startswith(f"fail  configuration: {path}: {key.name} must be {key.words}, got ")


@pytest.mark.parametrize(
    ("key", "value"), [each for each in WRONG if isinstance(each.values[1], str) and each.values[1]]
)
def test_a_wrong_variable_names_itself_and_what_is_accepted(
    key: Key,
    value: str,
    run: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(key.variable, value)
    assert run("check") == 2
    line = " ".join(capsys.readouterr().err.split())
    assert f"{key.name} must be {key.words}, got '{value}', by {key.variable}" in line


@pytest.mark.parametrize("command", ["serve", "serve-releases"])
def test_no_server_starts_with_a_file_that_is_wrong_anywhere(
    command: str, tmp_path: Path, run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Even in what another command would take: half a file is no configuration."""
    path = file_with(tmp_path, models={"demo": "film"}, analysts={"threads": 0}, servr={"port": 1})
    assert run(command, "--config", path) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "models.demo must be one of films, places, got 'film'" in told
    assert "analysts.threads must be a whole number from 1 to 1000000000, got 0" in told
    assert "'servr.port' is no setting; did you mean server.port?" in told


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("server.prot", "server.port"),
        ("server.streams", "limits.streams"),
        ("tls.certificat", "tls.certificate"),
        ("host", "server.host"),
    ],
)
def test_an_unknown_key_is_refused_with_the_one_that_was_meant(
    name: str, meant: str, tmp_path: Path, run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "server.toml"
    path.write_text(f"{name} = 7\n")
    assert run("check", "--config", path, "--demo") == 1
    assert f"'{name}' is no setting; did you mean {meant}?" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"engine = postgresql://ada:secret@host", "is no TOML, at line 1, column"),
        (b"\xff", "is no text"),
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
    assert run("check", "--config", path) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert reason in told
    assert "secret" not in told


@pytest.mark.parametrize("value", ["postgresql://ada:secret@host\t", ["secret"]])
def test_a_wrong_value_that_may_hold_a_password_is_not_repeated(
    value: object, tmp_path: Path, run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_with(tmp_path, analysts={"engine": value})
    assert run("check", "--config", path) == 1
    told = capsys.readouterr()
    assert "analysts.engine must be a text, got something else" in told.out
    assert "secret" not in told.out + told.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tls-key", "k"], "TLS needs both --tls-certificate and --tls-key"),
        (["--tls-client-authority", "a"], "TLS needs both --tls-certificate and --tls-key"),
        (
            ["--plain-text", "--tls-certificate", "c", "--tls-key", "k"],
            "--plain-text and a certificate exclude each other",
        ),
        (["--popularity", "1"], "--popularity names a release of the ledger in --releases"),
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


@pytest.mark.parametrize("key", [key for key in KEYS if key.name.startswith("limits.")])
async def test_grpc_takes_the_largest_of_every_limit(key: Key) -> None:
    """Planted bug: what is no limit here is one too many there, once the models are read."""
    assert isinstance(key.kind, Whole | Number)
    server = RunningServer([], configuration_of({key.name: key.kind.most}).server)
    await server.start()  # gRPC 1.85 corrupts memory where a server ends that never started
    await server.stop(grace=0)


# -- documents ------------------------------------------------------------------------------------

PAGE = (Path(__file__).parents[3] / "docs" / "operations.md").read_text(encoding="utf-8")


def test_the_file_of_the_page_is_one(tmp_path: Path) -> None:
    block = re.search(r"^```toml\n(\[server\].*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert block
    path = tmp_path / "server.toml"
    path.write_text(block[1])
    found = read_file(path)
    assert (found.problems, len(found.values)) == ((), 5)

"""What the documents tell people to type exists."""

from __future__ import annotations

import asyncio
import code
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from askew_client import AskewClient, BlockingClient
from askew_client.cli.main import cli as askew
from askew_client.demo.server import demo_server
from askew_client.settings.settings import ClientSettings
from askew_server.cli.main import cli as askew_server

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAMS: dict[str, click.Group] = {"askew": askew, "askew-server": askew_server}


def typed(text: str) -> Iterator[str]:
    """The lines of fenced blocks that a person is to type, one command each, joined if broken."""
    for block in re.findall(r"^```[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            command = re.sub(r"^\s*\$ ", "", line).strip()
            if re.match(r"(askew|askew-server|make)( |$)", command):
                yield command


def first_program(command: str) -> list[str]:
    """The words of the first program of a line: no comment, pipe, redirection or second command."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    ends = (at for at, word in enumerate(words) if set(word) <= set("|&;<>()"))
    return words[: next(ends, len(words))]


def complaint(command: str) -> str | None:
    """What is wrong with a command, or None."""
    program, *arguments = first_program(command)
    if program == "make":
        targets = [each for each in arguments if "=" not in each and not each.startswith("-")]
        unknown = set(targets) - make_targets()
        return f"no such target: {unknown}" if unknown else None
    current: click.Command = PROGRAMS[program]
    while isinstance(current, click.Group) and arguments and not arguments[0].startswith("-"):
        found = current.commands.get(arguments.pop(0))
        if found is None:
            return "no such command"
        current = found
    known = {flag for each in current.params for flag in (*each.opts, *each.secondary_opts)}
    known |= {"-h", "--help"}
    used = {each.partition("=")[0] for each in arguments if re.match(r"--?[a-z]", each)}
    return f"no such option: {used - known}" if used - known else None


def make_targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z][a-z-]*):(?!=)", makefile, re.MULTILINE))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_in_a_document_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    wrong = {command: complaint(command) for command in typed(text) if complaint(command)}
    assert wrong == {}


def test_the_readme_opens_with_the_two_commands() -> None:
    commands = [*typed((ROOT / "README.md").read_text(encoding="utf-8"))]
    assert [first_program(each) for each in commands[:2]] == [["make", "demo"], ["make", "test"]]


def test_the_readme_shows_what_the_demo_prints_today() -> None:
    """Nothing left to fill in, and the settings that a device has by default."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    settings = ClientSettings()
    assert "@@" not in text
    assert f"with k = {settings.k} in it" in text
    assert f"(epsilon {settings.epsilon} per unit distance)" in text
    assert f"a lifetime cap of {settings.lifetime_cap}" in text


def test_the_readme_shows_what_a_release_prints_today(capsys: pytest.CaptureFixture[str]) -> None:
    """Its plan, which no chance has a part in."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    askew_server(["release", "--demo", "--k", "5", "--dry-run"], standalone_mode=False)
    plan = capsys.readouterr().out.split("\n\n")[1]
    assert "will spend" in plan
    assert plan in text


SNIPPET = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SNIPPETS = SNIPPET.findall((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda text: text.splitlines()[0])
async def test_a_snippet_of_the_readme_runs_as_pasted_and_prints_what_it_says(
    snippet: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Into an interpreter, line by line, alone, with the demo's server where one is by default. The
    release among them goes wrong less than once in 10**50 runs.
    """
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    async with demo_server() as address:
        for client in (AskewClient, BlockingClient):
            defaults = client.__init__.__kwdefaults__
            assert defaults is not None
            monkeypatch.setitem(defaults, "server", address)
        await asyncio.to_thread(pasted, snippet)
    expected = re.findall(r"^print\(.*\)  # (.*)$", snippet, re.MULTILINE)
    shown = capsys.readouterr()
    assert (shown.err, shown.out.splitlines()) == ("", expected)


def pasted(snippet: str) -> None:
    console = code.InteractiveConsole({"__name__": "__console__"})
    for line in [*snippet.splitlines(), ""]:
        console.push(line)


def test_the_readme_has_snippets_for_all_that_is_a_library() -> None:
    packages = {word for text in SNIPPETS for word in re.findall(r"from (askew\w*)", text)}
    assert packages == {"askew", "askew_client"}
    assert ">>>" not in "".join(SNIPPETS)


def test_make_help_names_only_targets() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"^# make (\S+)", makefile, re.MULTILINE))
    assert {"demo", "test"} <= named <= make_targets()


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("```\nmake demo\n```", ["make demo"]),
        ("```console\n$ askew demo -k 3\nIt listens on\n```", ["askew demo -k 3"]),
        ("```sh\naskew-server serve \\\n  --demo\n```", ["askew-server serve    --demo"]),
        ("make nothing\n```\naskew: an error\nmakes sense\n```\n", []),
    ],
)
def test_typed_commands_are_found(text: str, commands: list[str]) -> None:
    assert list(typed(text)) == commands


@pytest.mark.parametrize(
    "command",
    [
        "make demo",
        "make PYTHON=python3.12 test",
        "askew demo -k 16 --epsilon 1  # a comment",
        "askew catalog | grep -i alien",
        "askew ask --ratings - --json < my-ratings.csv",
        "askew --help",
        "askew-server serve --model=model && make nothing",
        "askew-server ledger show --format csv > charges.csv",
    ],
)
def test_a_real_command_passes(command: str) -> None:
    assert complaint(command) is None


@pytest.mark.parametrize(
    "command",
    [
        "askew-server ledger burn",
        "askew-server ledger show --everything",
        "make coffee",
        "askew dance",
        "askew ask --loud",
        "askew-server train --ratings a --fast",
    ],
)
def test_a_made_up_command_is_seen(command: str) -> None:
    assert complaint(command) is not None

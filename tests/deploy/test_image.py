"""The recipe of an image, read as a builder reads it. No image is built here."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from askew_server.cli.main import cli

ROOT = Path(__file__).parents[2]
RECIPE = (ROOT / "deploy/Containerfile").read_text(encoding="utf-8")
PINNED = re.compile(r"[\w.-]+/[\w./-]+(@sha256:[0-9a-f]{64}|:\d+\.\d+\.\d+-[\w-]+)")


@dataclass(frozen=True)
class Step:
    """One instruction, of the stage that counts from 1; 0 is what stands before all."""

    stage: int
    word: str
    rest: str


def steps(recipe: str) -> list[Step]:
    found: list[Step] = []
    text = re.sub(r"(?m)^#.*\n", "", recipe).replace("\\\n", " ")
    for line in filter(str.strip, text.splitlines()):
        word, _, rest = line.partition(" ")
        stage = found[-1].stage if found else 0
        found.append(Step(stage + (word == "FROM"), word, rest.strip()))
    return found


def test_the_recipe_is_pinned_small_and_not_root() -> None:
    read = steps(RECIPE)
    assert max(each.stage for each in read) == 2
    of = {
        word: [each.rest for each in read if each.word == word] for word in ("ARG", "FROM", "RUN")
    }
    values = dict(each.split("=", 1) for each in of["ARG"])
    for image in of["FROM"]:
        name = re.sub(r"\$\{(\w+)\}", lambda match: values[match[1]], image.split()[0])
        assert PINNED.fullmatch(name), name
    assert "ADD" not in {each.word for each in read}  # it fetches and unpacks
    copied = [
        name
        for each in read
        if each.word == "COPY" and not each.rest.startswith("--from=")
        for name in each.rest.split()[:-1]
    ]
    assert [name for name in copied if name == "." or not (ROOT / name).exists()] == []
    for command in re.split("&&", " && ".join(of["RUN"])):
        if " install " in command:
            assert "--require-hashes" in command or "--no-index" in command, command
    last = [each for each in read if each.stage == read[-1].stage]
    *_, user = [each.rest for each in last if each.word == "USER"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)  # numbers, which a cluster can check
    assert "RUN" not in {each.word for each in last}
    assert [each for each in last if each.word == "COPY" and each.rest.startswith("--from=build")]


def test_an_image_starts_a_command_that_exists_on_ports_that_are_open() -> None:
    said = {each.word: each.rest for each in steps(RECIPE)}
    program, command, *options = json.loads(said["ENTRYPOINT"]) + json.loads(said["CMD"])
    assert program == "askew-server"
    check_options(command, options)
    assert shlex.split(said["EXPOSE"]) == ["7571", "7580"]


def check_options(command: str, options: list[str]) -> None:
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    flags = {flag for each in found.params for flag in each.opts}
    assert {each for each in options if each.startswith("-")} <= flags


def releases_of(lock: str) -> dict[str, str]:
    """The pinned line of each distribution, and its hashes."""
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    return {line.split(" --hash")[0].strip(): line for line in text.splitlines() if line.strip()}


@pytest.mark.parametrize("lock", ["requirements-server.lock", "requirements-build.lock"])
def test_an_image_has_what_was_tested_and_no_more(lock: str) -> None:
    """The same files of the same releases as the development environment has."""
    ours, tested = releases_of(lock), releases_of("requirements.lock")
    hashes = {line: set(re.findall(r"sha256:\w+", whole)) for line, whole in tested.items()}
    for line, whole in ours.items():
        [same] = [each for each in hashes if each.split(" ;")[0] == line.split(" ;")[0]]
        assert set(re.findall(r"sha256:\w+", whole)) == hashes[same]
    names = {line.partition("==")[0] for line in ours}
    assert names & {"pytest", "mypy", "hypothesis", "matplotlib", "textual"} == set()

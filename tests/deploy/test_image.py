"""The recipe of an image, read as a builder reads it. No image is built here."""

from __future__ import annotations

import json
import re
import shlex
from collections import defaultdict
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
    of, last = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for step in read:
        of[step.word].append(step.rest)
        if step.stage == 2:
            last[step.word].append(step.rest)
    assert read[-1].stage == 2
    values = dict(value.split("=", 1) for value in of["ARG"])
    for image in of["FROM"]:
        name = re.sub(r"\$\{(\w+)\}", lambda match: values[match[1]], image.split()[0])
        assert PINNED.fullmatch(name), name
    assert "ADD" not in of  # it fetches and unpacks
    copies = [rest.split()[:-1] for rest in of["COPY"] if not rest.startswith("--from=")]
    assert [x for names in copies for x in names if x == "." or not (ROOT / x).exists()] == []
    for command in re.split("&&", " && ".join(of["RUN"])):
        if " install " in command:
            assert "--require-hashes" in command or "--no-index" in command, command
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", last["USER"][-1])  # which a cluster can check
    assert "RUN" not in last
    assert any(rest.startswith("--from=build") for rest in last["COPY"])


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


def releases_of(lock: str) -> dict[str, set[str]]:
    """The pinned release of each distribution, and its hashes."""
    lines = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    return {line.split()[0]: {*re.findall(r"sha256:\w+", line)} for line in lines if line.strip()}


@pytest.mark.parametrize("lock", ["requirements-server.lock", "requirements-build.lock"])
def test_an_image_has_what_was_tested_and_no_more(lock: str) -> None:
    """The same files of the same releases as the development environment has."""
    ours, tested = releases_of(lock), releases_of("requirements.lock")
    assert ours.items() <= tested.items()
    names = {line.partition("==")[0] for line in ours}
    assert names & {"pytest", "mypy", "hypothesis", "matplotlib", "textual"} == set()

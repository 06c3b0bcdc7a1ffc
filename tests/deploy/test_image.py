"""The recipe of an image, read as a builder reads it. No image is built here."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
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


def complaints(recipe: str) -> list[str]:
    """What is wrong with a recipe."""
    read = steps(recipe)
    last = [each for each in read if each.stage == read[-1].stage]
    return [*_bases(read), *_copies(read), *_runs(read), *_last(last)]


def _bases(read: list[Step]) -> Iterator[str]:
    values = dict(each.rest.split("=", 1) for each in read if each.word == "ARG")
    for each in read:
        if each.word == "FROM":
            image = re.sub(r"\$\{(\w+)\}", lambda found: values[found[1]], each.rest.split()[0])
            if not PINNED.fullmatch(image):
                yield f"{image} is not pinned"


def _copies(read: list[Step]) -> Iterator[str]:
    for each in read:
        if each.word == "ADD":
            yield "ADD fetches and unpacks"
        if each.word == "COPY" and not each.rest.startswith("--from="):
            for name in each.rest.split()[:-1]:
                if name == "." or not (ROOT / name).exists():
                    yield f"{name} is everything, or nothing"


def _runs(read: list[Step]) -> Iterator[str]:
    for each in read:
        for command in re.split("&&", each.rest) if each.word == "RUN" else ():
            installs = " install " in command
            if installs and not ("--require-hashes" in command or "--no-index" in command):
                yield f"without hashes: {command.strip()}"


def _last(last: list[Step]) -> Iterator[str]:
    users = [each.rest for each in last if each.word == "USER"]
    if not users or not re.fullmatch(r"[1-9]\d*:[1-9]\d*", users[-1]):
        yield "the server is root, or a name that a cluster cannot check"
    if [each for each in last if each.word == "RUN"]:
        yield "the last stage has tools to run"
    if not [each for each in last if each.word == "COPY" and each.rest.startswith("--from=build")]:
        yield "the last stage has no server"


def test_the_recipe_is_pinned_small_and_not_root() -> None:
    assert complaints(RECIPE) == []
    assert max(each.stage for each in steps(RECIPE)) == 2


@pytest.mark.parametrize(
    ("shipped", "planted", "complaint"),
    [
        (":3.12.11-slim-bookworm", ":3", "docker.io/library/python:3 is not pinned"),
        ("FROM ${PYTHON} AS build", "FROM python AS build", "python is not pinned"),
        ("USER 10001:10001", "USER root", "the server is root"),
        ("USER 10001:10001\n", "", "the server is root"),
        ("COPY server server", "ADD server server", "ADD fetches and unpacks"),
        ("COPY server server", "COPY . .", ". is everything, or nothing"),
        ("COPY server server", "COPY servers server", "servers is everything, or nothing"),
        ("install --require-hashes -r requirements-s", "install -r requirements-s", "without h"),
        ("WORKDIR /srv/askew\n", "RUN apt-get update", "the last stage has tools to run"),
    ],
)
def test_a_bug_in_a_recipe_is_seen(shipped: str, planted: str, complaint: str) -> None:
    assert shipped in RECIPE
    found = complaints(RECIPE.replace(shipped, planted))
    assert [each for each in found if each.startswith(complaint)]


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

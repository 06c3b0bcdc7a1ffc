"""Help of every command fits the smallest usual terminal."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from askew_client.cli.main import cli as device
from askew_server.cli.main import cli as server

WIDTH = 80


def helps(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """The words of each command, and its help."""
    context = click.Context(command, info_name=name, max_content_width=WIDTH)
    yield name, command.get_help(context)
    if isinstance(command, click.Group):
        for word, each in command.commands.items():
            yield from helps(each, f"{name} {word}")


@pytest.mark.parametrize(("command", "name"), [(device, "askew"), (server, "askew-server")])
def test_help_fits_80_columns(command: click.Command, name: str) -> None:
    """Examples too, which are not wrapped."""
    wide = [
        (words, line)
        for words, text in helps(command, name)
        for line in text.splitlines()
        if len(line) > WIDTH
    ]
    assert not wide

"""Help of every command fits the smallest usual terminal."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from askew_client.cli.main import cli as device
from askew_server.cli.main import cli as server

WIDTH = 80


def helps(
    command: click.Command, name: str, parent: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    """The words of each command, and its help; a context of its own would forget -h for good."""
    context = click.Context(command, parent, info_name=name, **command.context_settings)
    yield name, command.get_help(context)
    if isinstance(command, click.Group):
        for word in command.list_commands(context):
            each = command.get_command(context, word)
            assert each is not None
            yield from helps(each, f"{name} {word}", context)


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


def test_every_command_of_the_server_has_an_example() -> None:
    """Of itself; `rehearse` is for the demo alone."""
    bare = {
        words
        for words, text in helps(server, "askew-server")
        if "Commands:" not in text and words not in text.partition("Example")[2]
    }
    assert bare == {"askew-server rehearse"}

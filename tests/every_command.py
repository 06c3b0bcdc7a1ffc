"""The commands of a program, imported as they are named."""

from __future__ import annotations

from collections.abc import Iterator

import click


def every_command(
    command: click.Command, *words: str, parent: click.Context | None = None
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command, parent)
        for word in command.list_commands(context):
            found = command.get_command(context, word)
            assert found is not None
            yield from every_command(found, *words, word, parent=context)

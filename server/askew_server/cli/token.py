"""`askew-server token`: keys and short-lived tokens for analysts."""

from __future__ import annotations

import time
from pathlib import Path

import click

from askew_server.serving.bearer import (
    MAX_HOURS,
    MAX_MINUTES,
    create_key,
    read_key,
    revocations_of,
)


@click.group()
def token() -> None:
    """Who may ask the Analyst service: make its key, mint tokens with it."""


@token.command()
@click.argument("file", type=click.Path(path_type=Path))
def key(file: Path) -> None:
    """Make a new random key in FILE, mode 0600. An existing file is left alone.

    \b
    Example:
      askew-server token key analysts.key
    """
    create_key(file)
    click.echo(f"made {file}", err=True)


@token.command()
@click.option("--key", "key_file", required=True, type=click.Path(path_type=Path), help="Its file.")
@click.option("--principal", required=True, help="Who the token speaks for.")
@click.option(
    "--minutes",
    default=15,
    show_default=True,
    type=click.IntRange(1, MAX_MINUTES),
    help="How long it is valid.",
)
@click.option(
    "--renewable",
    default=0,
    show_default=True,
    type=click.IntRange(0, MAX_HOURS),
    help="For how many hours its holder may renew it.",
)
def mint(key_file: Path, principal: str, minutes: int, renewable: int) -> None:
    """Write a token to standard output. Pass it on as a file, never as an argument.

    With --renewable, whoever has a token that is good may get the next one (analyst renew) until so
    many hours from now; a revocation ends that too.

    \b
    Example:
      askew-server token mint --key analysts.key --principal ada > ada.token
    """
    click.echo(
        read_key(key_file).mint(principal, minutes=minutes, now=time.time(), hours=renewable)
    )


@token.command()
@click.option("--key", "key_file", required=True, type=click.Path(path_type=Path), help="Its file.")
@click.option("--principal", required=True, help="Whose tokens are taken back.")
def revoke(key_file: Path, principal: str) -> None:
    """Take back every token that a principal got until now. A service that runs sees it at once.

    Recorded in the key's name with .revoked. A token minted from the next second on is good again;
    to end a budget, see ledger revoke.

    \b
    Example:
      askew-server token revoke --key analysts.key --principal ada
    """
    read_key(key_file)
    revocations_of(key_file).add(principal, now=time.time())
    click.echo(f"took back the tokens of {principal}", err=True)

"""`askew-server token` and `askew-server certs`: who may ask, and certificates to develop with."""

from __future__ import annotations

import datetime
import time
from pathlib import Path

import click

from askew_server.serving.bearer import (
    MAX_HOURS,
    create_key,
    read_key,
    revocations_of,
)

_MINUTES = 15  # that a token is valid
_DAYS = 30  # that certificates to develop with are valid


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
@click.option("--token-key", required=True, type=click.Path(path_type=Path), help="Its file.")
@click.option("--principal", required=True, help="Who the token speaks for.")
@click.option(
    "--renewable",
    default=0,
    show_default=True,
    type=click.IntRange(0, MAX_HOURS),
    help="For how many hours its holder may renew it.",
)
def mint(token_key: Path, principal: str, renewable: int) -> None:
    """Write a token to standard output, valid for 15 minutes. Pass it on as a file, never as an
    argument.

    With --renewable, whoever has a token that is good may get the next one (analyst renew) until so
    many hours from now; a revocation ends that too.

    \b
    Example:
      askew-server token mint --token-key analysts.key --principal ada > ada.token
    """
    click.echo(
        read_key(token_key).mint(principal, minutes=_MINUTES, now=time.time(), hours=renewable)
    )


@token.command()
@click.option("--token-key", required=True, type=click.Path(path_type=Path), help="Its file.")
@click.option("--principal", required=True, help="Whose tokens are taken back.")
def revoke(token_key: Path, principal: str) -> None:
    """Take back every token that a principal got until now. A service that runs sees it at once.

    Recorded in the key's name with .revoked. A token minted from the next second on is good again;
    to end a budget, see ledger revoke.

    \b
    Example:
      askew-server token revoke --token-key analysts.key --principal ada
    """
    read_key(token_key)
    revocations_of(token_key).add(principal, now=time.time())
    click.echo(f"took back the tokens of {principal}", err=True)


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--host",
    "hosts",
    multiple=True,
    default=("localhost", "127.0.0.1", "::1"),
    show_default=True,
    help="A name or address of the server. May be repeated.",
)
@click.option("--client", help="Make a certificate for a caller of this name too.")
def certs(directory: Path, hosts: tuple[str, ...], client: str | None) -> None:
    """Make an authority and a server's certificate in DIRECTORY, to develop with.

    authority.pem is what devices and analysts are told to trust; server.pem and server.key are the
    server's. Keys are of mode 0600, and good for 30 days. A file that is there is left alone, and
    then none is made.

    \b
    Examples:
      askew-server certs dev
      askew-server serve --demo --host 0.0.0.0 \\
        --tls-certificate dev/server.pem --tls-key dev/server.key
      ASKEW_AUTHORITY=$PWD/dev/authority.pem askew ask
    """
    from askew_server.serving.certificates import Issuer, write_new

    issuer = Issuer(datetime.datetime.now(datetime.UTC), _DAYS)
    pairs = {"authority": issuer.authority, "server": issuer.server(hosts)}
    if client is not None:
        pairs["client"] = issuer.client(client)
    files = {}
    for name, (certificate, key) in pairs.items():
        files[directory / f"{name}.pem"] = certificate
        files[directory / f"{name}.key"] = key
    write_new(files)
    click.echo(f"made {', '.join(path.name for path in files)} in {directory}", err=True)

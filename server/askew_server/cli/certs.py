"""`askew-server certs`: certificates to develop with."""

from __future__ import annotations

import datetime
from pathlib import Path

import click


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
@click.option("--days", default=30, show_default=True, help="How long they are valid.")
def certs(directory: Path, hosts: tuple[str, ...], client: str | None, days: int) -> None:
    """Make an authority and a server's certificate in DIRECTORY, to develop with.

    authority.pem is what devices and analysts are told to trust; server.pem and server.key are the
    server's. Keys are of mode 0600. A file that is there is left alone, and then none is made.

    \b
    Examples:
      askew-server certs dev
      askew-server serve --demo --host 0.0.0.0 \\
        --tls-certificate dev/server.pem --tls-key dev/server.key
      ASKEW_AUTHORITY=$PWD/dev/authority.pem askew ask
    """
    from askew_server.serving.certificates import Issuer, write_new

    issuer = Issuer(datetime.datetime.now(datetime.UTC), days)
    pairs = {"authority": issuer.authority, "server": issuer.server(hosts)}
    if client is not None:
        pairs["client"] = issuer.client(client)
    files = {}
    for name, (certificate, key) in pairs.items():
        files[directory / f"{name}.pem"] = certificate
        files[directory / f"{name}.key"] = key
    write_new(files)
    click.echo(f"made {', '.join(path.name for path in files)} in {directory}", err=True)

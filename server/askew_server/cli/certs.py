"""`askew-server certs`: certificates to develop with."""

from __future__ import annotations

import datetime
from pathlib import Path

import click

from askew.errors import ParameterError

_DAYS = 30


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
def certs(directory: Path, hosts: tuple[str, ...]) -> None:
    """Make certificates to develop with, in DIRECTORY.

    authority.pem is what devices and analysts are told to trust; server.pem and server.key are the
    server's. They are good for 30 days. Nobody keeps the authority's key: it signs nothing else. A
    file that is there is left alone, and then none is made: exit 1, but 0 where both server.pem and
    server.key are. Asks nothing, and prints one line on standard error, "made authority.pem,
    server.pem, server.key in dev".

    \b
    Examples:
      askew-server certs dev
      askew-server serve --demo --host 0.0.0.0 \\
        --tls-certificate dev/server.pem --tls-key dev/server.key
      ASKEW_AUTHORITY=$PWD/dev/authority.pem askew ask
    """
    import trustme

    from askew_server.folders import write_new

    if all((directory / name).exists() for name in ("server.pem", "server.key")):
        click.echo(f"{directory} has a certificate and its key, which were left alone", err=True)
        return
    authority = trustme.CA()
    ends = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=_DAYS)
    files = {directory / "authority.pem": authority.cert_pem.bytes()}
    try:
        pair = authority.issue_cert(*hosts, not_after=ends)
    except ValueError:
        raise ParameterError("host", ", ".join(hosts), "names or addresses, no ports") from None
    files[directory / "server.pem"] = b"".join(each.bytes() for each in pair.cert_chain_pems)
    files[directory / "server.key"] = pair.private_key_pem.bytes()
    write_new(files)
    click.echo(f"made {', '.join(path.name for path in files)} in {directory}", err=True)

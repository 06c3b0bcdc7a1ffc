"""`askew-server serve`: answers to noisy signals, and stored releases beside them."""

from __future__ import annotations

import click

from askew_server.cli.configured import configuration, configured
from askew_server.cli.options import SERVE_PORT, with_parent_option


@click.command()
@configured(
    "models",
    "releases.ledger",
    "releases.popularity",
    "server",
    "tls",
    "metrics",
    "log",
    "limits",
    "answers",
    defaults={"server.port": SERVE_PORT},
)
@with_parent_option
@click.pass_context
def serve(context: click.Context, /, *, with_parent: bool, **_: object) -> None:
    """Answer noisy signals until SIGTERM or Ctrl-C.

    With --releases, the stored releases of a ledger are served beside, read-only; with
    --popularity, one of them orders what a device shows before it knows anything.

    A model of collections is served with its live values: what `update-live` writes is swapped in
    within a second, or at once on SIGHUP.

    With several models of tastes, a device is answered from the one that was in force on the Monday
    that it last looked. An old one is answered for a week and two days after the next came.

    Devices speak TLS to every machine but their own: name --tls-certificate and --tls-key, or put a
    TLS proxy in front and say --plain-text. `askew-server check` looks before.

    \b
    Examples:
      askew-server serve --model model
      askew-server serve --demo places
      askew-server serve --model old --model new@2026-11-23
      askew-server serve --model model --host 0.0.0.0 \\
        --tls-certificate server.pem --tls-key server.key
      askew-server serve --config askew-server.toml
    """
    chosen = configuration(context)
    chosen.models.require()
    from askew_server.cli.serving_run import run

    run(chosen, with_parent=with_parent)

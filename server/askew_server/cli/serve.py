"""`askew-server serve`: answers to noisy signals, and stored releases beside them."""

from __future__ import annotations

import click

from askew_server.cli.configured import configuration, configured
from askew_server.cli.options import SERVE_PORT, child_option, with_parent_option


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
@child_option
@click.pass_context
def serve(context: click.Context, /, *, with_parent: bool, child: int | None, **_: object) -> None:
    """Answer noisy signals until SIGTERM or Ctrl-C.

    With --releases, the stored releases of a ledger are served beside, read-only; with
    --popularity, one of them orders what a device shows before it knows anything.

    With several models of tastes, a device is answered from the one that was in force on the Monday
    that it last looked. An old one is answered for a week and two days after the next came.

    A model whose files change is read again, checked and swapped in within seconds, at once on
    SIGHUP; so are new ones in the folder of --models, and live values. What cannot be used leaves
    what is served. With --processes, SIGUSR1 replaces one process after the other.

    Devices speak TLS to every machine but their own: name --tls-certificate and --tls-key, or put a
    TLS proxy in front and say --plain-text. `askew-server check` looks before.

    \b
    Examples:
      askew-server serve --model model
      askew-server serve --demo places
      askew-server serve --model old --model new@2026-11-23
      askew-server serve --models models --processes 2
      askew-server serve --model model --host 0.0.0.0 \\
        --tls-certificate server.pem --tls-key server.key
      askew-server serve --config askew-server.toml
    """
    chosen = configuration(context)
    chosen.models.require()
    from askew_server.cli.serving_run import run

    run(chosen, with_parent=with_parent, child=child)

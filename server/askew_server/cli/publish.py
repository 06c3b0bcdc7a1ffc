"""`askew-server publish`: the files that devices hold, for a static host."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from askew.catalog.catalog_file import Part
from askew.errors import ArtifactError
from askew_server.cli.saved_model import load
from askew_server.folders import date_of_text, replace_file, text_of_date


@click.command()
@click.option("--model", required=True, type=click.Path(path_type=Path), help="Model directory.")
@click.option(
    "--week",
    "monday",
    required=True,
    metavar="MONDAY",
    help="The Monday from which on devices look for it, as 2026-11-23.",
)
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Directory of the static host."
)
def publish(model: Path, monday: str, out: Path) -> None:
    """Write what devices hold of a model, for any static HTTPS host.

    Devices look once a week for DATE.whole, or DATE.default where that is too long for them. So a
    host needs files for every Monday, also where nothing changed: then devices fetch 48 bytes.
    Keep those of the last three Mondays. The files of a Monday never change: one that is there
    already with other bytes is an error, exit 1. Live values are DATE.live, which is replaced:
    publish again after each update-live. Asks nothing, and prints a line a file,
    "site/2026-11-23.whole  91,024 bytes", with ", as it was" where the same bytes were there.

    \b
    Example:
      askew-server publish --model model --week 2026-11-23 --out site
    """
    name = text_of_date(date_of_text("week", monday))
    for part, file in _files_of(model).items():
        path = out / f"{name}.{part}"
        new = _write(path, file, once=part is not Part.LIVE)
        click.echo(f"{path}  {len(file):,} bytes{'' if new else ', as it was'}")


def _files_of(directory: Path) -> Mapping[Part, bytes]:
    from askew.wire.catalog_file import catalog_files, live_to_bytes
    from askew_server.collections.artifact import with_live_file
    from askew_server.collections.model import MetricModel

    found = load(directory)
    if not isinstance(found, MetricModel):
        return catalog_files(found.card, found.catalog)
    if not found.files:
        raise ArtifactError(
            f"{directory} has no file to publish: devices hold nothing of this model, and ask"
        )
    collections = {
        name: with_live_file(directory, collection)
        for name, collection in found.collections.items()
    }
    live = live_to_bytes(found.card, collections)
    return found.files if live is None else {**found.files, Part.LIVE: live}


def _write(path: Path, file: bytes, *, once: bool) -> bool:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            if path.read_bytes() == file:
                return False
            if once:
                raise ArtifactError(
                    f"{path} is there with other bytes, and the files of a Monday never change:"
                    " name another --week"
                )
        replace_file(path, file, 0o644)
    except OSError as error:
        raise ArtifactError(f"{path} cannot be written: {error.strerror}") from None
    return True

"""Mondays on the command line: the names of a model's versions."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import click

from askew.editions import FIRST, is_edition

_EPOCH = datetime.date(1970, 1, 1)


class Monday(click.ParamType[int]):
    """A Monday, 2026-11-23, as the number of an edition."""

    name = "monday"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Its day since 1970-01-01."""
        if isinstance(value, int):
            return value
        try:
            day = (datetime.date.fromisoformat(str(value)) - _EPOCH).days
        except ValueError:
            self.fail(f"{str(value)[:80]!r} is no day such as 2026-11-23", param, ctx)
        if not is_edition(day):
            self.fail(f"{value} is no Monday, on which versions come into force", param, ctx)
        return day


class DatedModel(click.ParamType[tuple[Path, int]]):
    """DIR or DIR@2026-11-23: a model, and the Monday from which on it is in force."""

    name = "model"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Path, int]:
        """The directory, and the Monday; without one, it was always in force."""
        if isinstance(value, tuple):
            return value
        directory, at, day = str(value).rpartition("@")
        if at and directory and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", day):
            return Path(directory), MONDAY.convert(day, param, ctx)
        return Path(str(value)), FIRST


MONDAY = Monday()
DATED_MODEL = DatedModel()


def iso_date(edition: int) -> str:
    """The name of an edition: "2026-11-23"."""
    return (_EPOCH + datetime.timedelta(days=edition)).isoformat()

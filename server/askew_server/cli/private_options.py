"""The options of private training, which `train` and `update` share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import Any

import click

from askew_server.cli.options import (
    PATH,
    POSITIVE,
    RATIONAL,
    Workplace,
    again_options,
    bound_option,
    dry_run_option,
    engine_options,
)

_OPTIONS = (
    click.option(
        "--epsilon",
        type=POSITIVE,
        help="Make a private model, of one noisy matrix of likes, at this epsilon, such as 1.",
    ),
    click.option("--delta", type=RATIONAL, help="Of a private model: its delta, such as 1e-6."),
    click.option(
        "--expect",
        type=click.IntRange(1),
        help="Of a private model: how many people there are, as far as you know without them.",
    ),
    click.option("--ledger", type=PATH, help="Of a private model: what pays."),
    click.option("--mark", type=PATH, help="The ledger's mark."),
    click.option("--dataset", help="Whose budget pays."),
    again_options,
    dry_run_option,
    bound_option,
    engine_options,
)


@dataclass(frozen=True)
class PrivateOptions:
    """What was typed. expect: how many people, as far as the operator knows without ratings."""

    epsilon: Fraction | None
    delta: Fraction | None
    expect: int | None
    ledger: Path | None
    mark: Path | None
    dataset: str | None
    as_of: str | None
    again: bool
    dry_run: bool
    max_items_per_unit: int | None
    engine: str
    encoding: str | None

    def check_unused(self) -> None:
        """Raise click.UsageError where an option was typed that only a private model takes."""
        typed = (self.delta, self.expect, self.ledger, self.mark, self.dataset, self.as_of)
        if any((*typed, self.max_items_per_unit, self.again, self.dry_run)):
            raise click.UsageError(
                "--delta, --expect, --ledger, --mark, --dataset, --as-of, --max-items-per-unit, "
                "--again and --dry-run are of a private model: name its --epsilon, or omit them"
            )

    @property
    def place(self) -> Workplace:
        """Return where ledger and engine are. Raises click.UsageError without a ledger or a
        delta.
        """
        if self.ledger is None or self.delta is None:
            raise click.UsageError("a private model (--epsilon) needs --delta and --ledger, too")
        return Workplace(
            ledger=self.ledger, mark=self.mark, engine=self.engine, encoding=self.encoding
        )


def private_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with the options of private training; it gets them as one keyword argument,
    `paying`.
    """

    @wraps(command)
    def gathered(*positional: Any, **named: Any) -> Any:
        fields = {name: named.pop(name) for name in PrivateOptions.__dataclass_fields__}
        return command(*positional, paying=PrivateOptions(**fields), **named)

    taking: Callable[..., Any] = gathered
    for option in reversed(_OPTIONS):
        taking = option(taking)
    return taking

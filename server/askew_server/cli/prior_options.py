"""The options of `train` that name a prior: at most one of a file, a budget, a cohort."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askew_server.cli.options import Rational

if TYPE_CHECKING:
    from askew_server.counting.engines.files import FileState
    from askew_server.taste.prior.source import PriorSource  # brings numpy

_OPTIONS = (
    click.option(
        "--prior-file",
        type=click.Path(path_type=Path),
        help="Public prior: ratings of published people, or vectors of their tastes.",
    ),
    click.option(
        "--prior-dp",
        type=Rational(positive=True),
        help="Prior fitted under differential privacy, given the item vectors (--vectors-from): its"
        " epsilon, such as 1 or 1/2.",
    ),
    click.option("--ledger", type=click.Path(path_type=Path), help="The ledger that pays for it."),
    click.option("--anchor", type=click.Path(path_type=Path), help="The ledger's anchor."),
    click.option("--dataset", help="Whose budget pays."),
    click.option(
        "--prior-cohort",
        help="Prior of the people in --ratings as they are, who opted in under this name.",
    ),
)


@dataclass(frozen=True)
class PriorOptions:
    """What was given on the command line."""

    prior_file: Path | None
    prior_dp: Fraction | None
    ledger: Path | None
    anchor: Path | None
    dataset: str | None
    prior_cohort: str | None

    def look(self, ratings: Path) -> tuple[FileState, ...]:
        """The files of ratings, before they are read, where a release is to be paid for them."""
        from askew_server.counting.engines.files import local_files, states_of

        return () if self.prior_dp is None else states_of(local_files(str(ratings)))

    @contextmanager
    def source(
        self, counts: float | None, ratings: Path, seen: Sequence[FileState]
    ) -> Iterator[PriorSource | None]:
        """The prior's source, with its ledger open while it is used. Raises click.UsageError.

        counts: the least count that is a like, where files hold counts. ratings: of the people
        trained on. seen: what `look` found there.
        """
        from askew_server.taste.prior.source import Cohort, read_published

        given = [self.prior_file, self.prior_dp, self.prior_cohort]
        if sum(each is not None for each in given) > 1:
            raise click.UsageError("one prior at most: --prior-file, --prior-dp or --prior-cohort")
        if self.prior_dp is not None:
            yield from self._released(self.prior_dp, ratings, seen)
        elif self.prior_file is not None:
            yield read_published(self.prior_file, counts)
        else:
            yield None if self.prior_cohort is None else Cohort(self.prior_cohort)

    def _released(
        self, epsilon: Fraction, ratings: Path, seen: Sequence[FileState]
    ) -> Iterator[PriorSource]:
        if self.ledger is None or self.anchor is None or self.dataset is None:
            raise click.UsageError("--prior-dp needs --ledger, --anchor and --dataset")
        from askew.noise.randomness import SystemBits
        from askew_server.cli.options import Workplace, existing
        from askew_server.cli.release_run import warn_of_events
        from askew_server.counting.engines.files import are_as_they_were, changed, mark_of
        from askew_server.counting.key_store import stored_key
        from askew_server.ledger import Ledger
        from askew_server.release.plan import place_of_file
        from askew_server.taste.prior.source import DPGaussian, PaidRelease

        with Ledger(existing(self.ledger), self.anchor) as ledger:
            state = mark_of(seen, stored_key(Workplace(ledger=self.ledger).bounding_key_path))
            if not are_as_they_were(seen):
                raise changed(str(ratings))
            place = place_of_file(seen[0].path if len(seen) == 1 else str(ratings))
            say = partial(click.echo, err=True)
            tell = partial(warn_of_events, ledger, say=say)
            release = PaidRelease(ledger, self.dataset, SystemBits(), place, state, tell)
            yield DPGaussian(epsilon, release)


def prior_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options; the command gets them as one keyword argument, `prior`."""

    @wraps(command)
    def gathered(*positional: Any, **named: Any) -> Any:
        fields = {name: named.pop(name) for name in PriorOptions.__dataclass_fields__}
        return command(*positional, prior=PriorOptions(**fields), **named)

    taking: Callable[..., Any] = gathered
    for option in reversed(_OPTIONS):
        taking = option(taking)
    return taking

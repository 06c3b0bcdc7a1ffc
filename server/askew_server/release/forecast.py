"""What a release would cost and how far off its list could be, from public numbers alone."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from askew.errors import ParameterError
from askew.mechanisms.accuracy import CHANCE, people_below
from askew_server.release.selectors import Wish, default_bound, kind_of, kinds
from askew_server.release.tables import Row


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """One mechanism on a public domain of n_items, or on an unknown one (None).

    people_below: with `chance` or more, and whatever the counts, no item listed is more than so
    many people below the k-th. epsilon, delta and chance are exact rationals, as text.
    """

    mechanism: str
    returns: str
    k: int
    n_items: int | None
    epsilon: str
    delta: str
    neighbors: str
    max_items_per_unit: int | None
    people_below: int
    chance: str

    def named(self) -> dict[str, str | int | None]:
        """As JSON has it."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def row(self) -> Row:
        """As a table or csv has it: "none" where there is none, or none is known."""
        return {name: "none" if value is None else value for name, value in self.named().items()}


COLUMNS = tuple(each.name for each in fields(Forecast))


def forecast(mechanism: str, wish: Wish, n_items: int | None) -> Forecast:
    """Of a mechanism on a wish. Raises ParameterError where the two do not fit together."""
    kind = kind_of(mechanism, known_domain=n_items is not None, delta=wish.delta)
    return Forecast(
        mechanism=mechanism,
        returns="ranking" if kind.ranked else "set",
        k=wish.k,
        n_items=n_items,
        epsilon=str(wish.epsilon),
        delta=str(wish.delta),
        neighbors=wish.neighbors.value,
        max_items_per_unit=wish.max_items_per_unit,
        people_below=people_below(kind.build(wish), n_items),
        chance=str(CHANCE),
    )


def forecasts(wish: Wish, n_items: int | None) -> list[Forecast]:
    """Of every mechanism that domain, delta and neighboring relation allow."""
    found = []
    for name in kinds():
        try:
            found.append(forecast(name, with_default_bound(name, wish), n_items))
        except ParameterError:
            continue
    return found


def with_default_bound(mechanism: str, wish: Wish) -> Wish:
    """A wish with the contribution bound that a mechanism has by default, unless it names one."""
    bound = wish.max_items_per_unit or default_bound(mechanism)
    return replace(wish, max_items_per_unit=bound)

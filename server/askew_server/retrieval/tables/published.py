"""The ways to ask that a card names: whoever asks otherwise is answered without a table.

They are those of its table of what asking is worth, and the epsilon and k that its rule was chosen
for. A device that follows the card asks in one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from askew.break_even import MechanismName, Way
from askew.errors import ParameterError
from askew.lattice import Lattice
from askew.model_card import ModelCard
from askew.randomized_response import RandomizedResponse
from askew.signal import TasteMechanism

_READ_BY: Mapping[str, MechanismName] = {"point": "geo_laplace", "bucket": "bucket_rr"}


def published(card: ModelCard) -> Mapping[TasteMechanism, tuple[int, ...]]:
    """Every k, ascending, of every mechanism that the card names, in the order of its rows."""
    offers = () if card.break_even is None else card.break_even.offers
    named = [(o.mechanism, o.epsilon, o.k) for o in offers if o.way is Way.SIGNAL]
    rule, found = card.rule, dict[TasteMechanism, set[int]]()
    named.append((_READ_BY.get(rule.kind.reads), Fraction(rule.epsilon), rule.k))
    for name, epsilon, k in named:
        mechanism = _mechanism(name, epsilon, card.space.n_buckets)
        if mechanism is not None and k <= card.max_slate_size:
            found.setdefault(mechanism, set()).add(k)
    return {mechanism: tuple(sorted(sizes)) for mechanism, sizes in found.items()}


def _mechanism(
    name: MechanismName | None, epsilon: Fraction, n_buckets: int
) -> TasteMechanism | None:
    """What a device sends by; None where it cannot."""
    try:
        if name == "geo_laplace":
            return Lattice.for_epsilon(epsilon)
        if name == "bucket_rr" and n_buckets:
            return RandomizedResponse.for_epsilon(n_buckets, epsilon)
    except ParameterError:  # an epsilon that no device may choose
        pass
    return None

"""`top_k`: the k most popular names in one line, with differential privacy.

    import askew

    menu = ["tea", "milk", "rum", "ale", "gin"]  # public
    print(askew.top_k({}, items=menu, k=3, epsilon=0.5).plan)  # what to expect, before any data
    askew.top_k({"tea": 900, "milk": 7, "rum": 870, "ale": 850}, items=menu, k=3, epsilon=0.5)

The mechanism is chosen from public numbers alone, by the table of docs/selection.md.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np

from askew.dp.privacy import ADD_OR_REMOVE_ONE, NeighboringRelation
from askew.errors import ParameterError
from askew.noise.randomness import KERNEL, RandomBits
from askew.selection.plan import TopKPlan
from askew.selection.reading import named_counts
from askew.selection.result import TopK

Number = int | float | Fraction | Decimal
_DIGITS: Final = 400  # of a number, at most


def top_k(  # noqa: PLR0913
    counts: object,
    *,
    k: int,
    epsilon: Number,
    items: object = None,
    unknown: bool = False,
    delta: Number | None = None,
    ordered: bool = False,
    neighbors: NeighboringRelation = ADD_OR_REMOVE_ONE,
    max_items_per_person: int | None = None,
    mechanism: str | None = None,
    with_counts: bool | Number = False,
    bits: RandomBits = KERNEL,
) -> TopK:
    """Select the k names with the highest counts, as a set sorted by name, with privacy.

    counts: how many people chose each name: a mapping, a Counter, a pandas Series, a frame or an
    arrow table of two columns (names, then counts), pairs, an array, a polars Series, or a list of
    numbers. Each person must count at most once for each name.
    items: all names that may be selected: public, and made without the data. A name that `counts`
    lacks counts 0, and a name of `counts` that is not in it is ignored without a word, since an
    error would tell that somebody brought it. An array needs none, its places are public.
    unknown: names come from the data, by a limited domain, which needs a delta: it lists only names
    above a noisy threshold, and may stop before k. Text, numbers, bytes, dates and tuples of these
    are names; what else somebody brought, or what is missing, is left out without a word.
    epsilon, delta: the total of the call. A float is the decimal that it prints: 0.1 is 1/10.
    ordered: best first instead, as a ranking.
    neighbors: `ADD_OR_REMOVE_ONE` or `REPLACE_ONE`.
    max_items_per_person: for how many names one person counts at most. The counts must keep it.
    mechanism: one by its name, in place of the one that docs/selection.md names for these numbers.
    with_counts: noisy counts beside the names, for half of epsilon, or for the share given here.
    bits: where randomness comes from; the kernel's by default.

    Privacy unit: one person's whole history. Guarantee: `TopK.loss`, the guarantees of the
    mechanism and of `NoisyCounts` added (`askew.dp.composition.basic`).
    Raises ParameterError, which names no item and no count of the data.
    """
    names, values = named_counts(counts, items, unknown=unknown)
    plan = TopKPlan(
        n_names=None if unknown else len(names),
        k=_plain(k),
        epsilon=exact("epsilon", epsilon),
        delta=_delta(delta, unknown=unknown),
        ordered=ordered,
        neighbors=neighbors,
        max_items_per_person=_plain(max_items_per_person),
        mechanism_name=mechanism,
        share=_share(with_counts),
    )
    selected = plan.mechanism.select(values, bits=bits)
    places = [*selected] if ordered else sorted(selected)
    noise = plan.parts[2]
    noisy = None
    if noise is not None:
        noisy = [*noise.perturb([int(values[i]) for i in places], bits=bits)]
    return TopK(
        items=[names[i] for i in places],
        plan=plan,
        stopped=getattr(selected, "stopped", False),
        counts=noisy,
    )


def exact(name: str, value: object) -> Fraction:
    """Return a number of the caller exactly; a float is the decimal that it prints. Raises
    ParameterError.
    """
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, (float, np.floating, Decimal)):
        endless = isinstance(value, Decimal) and abs(value.adjusted()) > _DIGITS
        value = "endless" if endless else str(value)
    elif isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        raise ParameterError(name, value, "a number such as 0.5, or Fraction(1, 2)")
    try:
        return Fraction(value)
    except ValueError:
        raise ParameterError(name, value, "a finite number") from None


def _plain(number: Any) -> Any:
    return int(number) if isinstance(number, np.integer) else number


def _delta(delta: Number | None, *, unknown: bool) -> Fraction:
    if delta is None and unknown:
        limit = "given with unknown=True: far below one in the number of people, such as 1e-6"
        raise ParameterError("delta", None, limit)
    return exact("delta", 0 if delta is None else delta)


def _share(with_counts: object) -> Fraction:
    if isinstance(with_counts, bool):
        return Fraction(with_counts, 2)
    share = exact("with_counts", with_counts)
    if not 0 < share < 1:
        limit = "True, False, or the share of epsilon for the counts, between 0 and 1"
        raise ParameterError("with_counts", with_counts, limit)
    return share

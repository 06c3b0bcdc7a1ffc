"""Our mechanisms as OpenDP measurements, so that its odometers and filters can hold them.

| Askew | OpenDP |
|---|---|
| counts of d items | `vector_domain` of i64 from 0 to 2**61 - 1, of size d where it is given |
| ADD_OR_REMOVE_ONE | `linf_distance(monotonic=True)`, d_in = 1: counts move one way, by at most 1 |
| REPLACE_ONE | `linf_distance()` at d_in = 1: each moves by at most 1, either way |
| pure epsilon-DP | `max_divergence`, d_in * epsilon: neighbors at d_in are d_in steps apart |
| (epsilon, delta)-DP | `approximate(max_divergence)`, at d_in = 1 alone |

Both relations say that a unit changes each count by at most 1. How many counts it changes is no
distance of OpenDP's, so what rests on `max_items_per_unit` is refused; scores too, whose fractions
its domains lack. Epsilon is rounded up to a float. The loss is that of `privacy_loss`; by zCDP a
mechanism may cost less, which this leaves out.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import inf, nextafter
from typing import Any

from askew.dp.composition import delta_of
from askew.dp.privacy import ADD_OR_REMOVE_ONE, PrivacyLoss
from askew.errors import ParameterError
from askew.mechanisms.shortfall import Selector
from askew.mechanisms.tally import check_positive_int

_MOST = 2**61 - 1  # a count


def measurement(mechanism: Selector, items: int | None = None) -> Any:
    """Return an `opendp.mod.Measurement` from counts (d,) to what `select` returns.

    items: the public number d of items; all measurements of one odometer take the same. OpenDP asks
    for `dp.enable_features("contrib", "honest-but-curious")` first, which is the caller's to say.
    Privacy unit, neighboring relation and guarantee: the mechanism's. Raises ParameterError for a
    mechanism that states max_items_per_unit or linf_sensitivity, ModuleNotFoundError without
    opendp.
    """
    if not (hasattr(mechanism, "select") and hasattr(mechanism, "privacy_loss")):
        raise ParameterError("mechanism", type(mechanism), "one of askew.mechanisms")
    for name in ("max_items_per_unit", "linf_sensitivity"):
        if getattr(mechanism, name, None) is not None:
            limit = f"one without {name}, which no distance of OpenDP's says"
            raise ParameterError("mechanism", type(mechanism).__name__, limit)
    if items is not None:
        check_positive_int("items", items)
    import opendp.prelude as dp

    loss, pure = mechanism.privacy_loss(), dp.max_divergence()
    return dp.m.make_user_measurement(
        dp.vector_domain(dp.atom_domain(bounds=(0, _MOST), T="i64"), size=items),
        dp.linf_distance(T="i64", monotonic=loss.neighbors is ADD_OR_REMOVE_ONE),
        dp.approximate(pure) if delta_of(loss) else pure,
        mechanism.select,
        partial(loss_at, loss),
    )


def loss_at(loss: PrivacyLoss, d_in: int) -> float | tuple[float, float]:
    """Return the loss between inputs at a distance, as floats rounded up: epsilon * d_in, or
    (epsilon * d_in, delta * d_in) where delta is above 0. Raises ParameterError for d_in below 0,
    and above 1 with a delta.
    """
    delta = delta_of(loss)
    if d_in < 0 or (d_in > 1 and delta):
        raise ParameterError("d_in", d_in, "0 or 1" if delta else "at least 0")
    epsilon = _up(loss.epsilon * d_in)
    return (epsilon, _up(delta * d_in)) if delta else epsilon


def _up(value: Fraction) -> float:
    near = float(value)
    return near if near >= value else nextafter(near, inf)

"""What people may care about besides distance: as an operator names it, or by default.

The default knows columns alone and nothing of anybody's use:

    .15   prices: numbers whose unit is a currency. Each has five rates, .5 to 10 kilometers for as
          much as a price differs from another, half of what lies between the 16 % and the 84 %
    .20   kinds: each flag that an item has, and each word of a category with few words, evenly
    rest  nothing but distance
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from askew.catalog.attributes import Column, Flags, Numbers
from askew.catalog.item import Attribute, AttributeKind
from askew.errors import ParameterError
from askew.protocol.metric_card import MAX_WANTS, Want

_PRICES, _KINDS = 0.15, 0.20
_RATES = (0.5, 1.25, 2.5, 5.0, 10.0)
_SIGNS = """
€ $ £ ¥ ₹ ₽ ₩ ₺ euro aud bgn brl cad chf clp cny czk dkk eur gbp hkd huf idr ils inr isk jpy krw mxn
myr nok nzd php pln ron rsd rub sek sgd thb try uah usd vnd zar
"""
_CURRENCIES = frozenset(_SIGNS.split())


def default_wants(attributes: Sequence[Attribute], columns: Sequence[Column]) -> tuple[Want, ...]:
    """Return the wants that a collection takes where its operator names none: rates of prices
    first, then words; none where there are no such columns.
    """
    pairs = [*zip(attributes, columns, strict=True)]
    prices = [
        (attribute.name, spread)
        for attribute, column in pairs
        if is_price(attribute) and (spread := _spread(column)) > 0
    ][: MAX_WANTS // 4 // len(_RATES)]
    weight = _PRICES / len(_RATES) / max(1, len(prices))
    rates = [
        Want(name, weight, rate=float(f"{kilometers / spread:.2g}"))
        for name, spread in prices
        for kilometers in _RATES
    ]
    # Every flag that some item has, or may have once it is live; then every word.
    words = [
        (attribute.name, "yes")
        for attribute, column in pairs
        if isinstance(column, Flags) and (attribute.live or (column.values == 1).any())
    ]
    words += [(attribute.name, word) for attribute, _ in pairs for word in attribute.words]
    words = words[: MAX_WANTS - len(rates)]
    return (*rates, *[Want(name, _KINDS / len(words), word) for name, word in words])


def is_price(attribute: Attribute) -> bool:
    """Return True for a number attribute whose unit is a currency, or a currency by something, as
    in EUR/kWh.
    """
    unit = attribute.unit.partition("/")[0].strip().casefold()
    return attribute.kind is AttributeKind.NUMBER and unit in _CURRENCIES


def named_wants(texts: Iterable[str], attributes: Sequence[Attribute]) -> tuple[Want, ...]:
    """Return the wants of options "COLUMN=WORD:WEIGHT" or, of a number, "COLUMN=RATE:WEIGHT", in
    their order; those of columns that are no attributes are left out. Raises ParameterError for
    another text.
    """
    kinds, wants = {attribute.name: attribute.kind for attribute in attributes}, []
    for text in texts:
        option, _, weight = text.rpartition(":")
        name, _, value = option.partition("=")
        try:
            if kinds.get(name) is AttributeKind.NUMBER:
                wants.append(Want(name, float(weight), rate=float(value)))
            else:
                wants.append(Want(name, float(weight), value))
        except ValueError:
            limit = "COLUMN=WORD:WEIGHT, of a number COLUMN=KILOMETERS:WEIGHT, weights at most 1"
            raise ParameterError("want", text, limit) from None
    return tuple([want for want in wants if want.attribute in kinds])


def _spread(column: Column) -> float:
    # Half of what lies between 16 % and 84 %: a normal law's standard deviation.
    values = column.values[~np.isnan(column.values)] if isinstance(column, Numbers) else np.empty(0)
    if not len(values):
        return 0.0
    low, high = np.percentile(values.astype(np.float64), [16, 84])
    return float(high - low) / 2

"""A space a little wider than the device's limit is too wide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from askew.errors import ParameterError
from askew_client.settings.settings import ClientSettings

if TYPE_CHECKING:
    from client.conftest import Pair

FOUR = replace(ClientSettings(), mode="query", k=4, max_diameter=4.0, max_one_rating=4.0)
A_LITTLE = 2.0**-16  # the least that a width can change


@pytest.mark.parametrize("beyond", [A_LITTLE, 0.25, 0.4375])
def test_a_fraction_beyond_the_limit_is_refused(
    pair_in_a_space: Callable[..., Pair], beyond: float
) -> None:
    """Planted bug: `int(diameter) > max_diameter`, which lets 4.875 pass for 4."""
    pair = pair_in_a_space(width=2.0 + beyond)  # two axes
    with pytest.raises(ParameterError, match="at most this device's limit, 4"):
        pair.exchange({0: 3.0}, FOUR).loss  # noqa: B018


def test_a_fractional_limit_is_kept_too(pair_in_a_space: Callable[..., Pair]) -> None:
    pair = pair_in_a_space(width=1.875)
    with pytest.raises(ParameterError, match="diameter"):
        pair.exchange({0: 3.0}, replace(FOUR, max_diameter=3.75 - A_LITTLE)).loss  # noqa: B018
    pair.exchange({0: 3.0}, replace(FOUR, max_diameter=3.75)).loss  # noqa: B018


@pytest.mark.parametrize("short", [0.0, A_LITTLE])
def test_the_limit_itself_is_entered(pair_in_a_space: Callable[..., Pair], short: float) -> None:
    pair = pair_in_a_space(width=2.0 - short)
    pair.exchange({0: 3.0}, FOUR).loss  # noqa: B018

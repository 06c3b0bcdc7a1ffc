"""A space a little wider than the device's limit is too wide, and so is a rating's reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from askew.errors import ParameterError
from askew_client.settings.settings import ClientSettings

if TYPE_CHECKING:
    from client.conftest import Pair

FOUR = replace(ClientSettings(), mode="ask", k=4, max_ratings_apart=4.0)
A_LITTLE = 2.0**-16  # the least that a width can change


@pytest.mark.parametrize("beyond", [A_LITTLE, 0.25, 0.4375])
def test_a_fraction_beyond_the_limit_is_refused(
    pair_in_a_space: Callable[..., Pair], beyond: float
) -> None:
    """Planted bug: `int(diameter) > max_ratings_apart`, which lets 4.875 pass for 4."""
    pair = pair_in_a_space(width=2.0 + beyond)  # two axes
    with pytest.raises(ParameterError, match="at most this device's limit, 4"):
        pair.exchange({0: 3.0}, FOUR).mechanism  # noqa: B018


@pytest.mark.parametrize("short", [0.0, A_LITTLE])
def test_the_limit_itself_is_entered(pair_in_a_space: Callable[..., Pair], short: float) -> None:
    pair = pair_in_a_space(width=2.0 - short)
    pair.exchange({0: 3.0}, FOUR).mechanism  # noqa: B018


def test_a_space_where_one_rating_moves_a_point_by_more_than_1_is_not_asked(
    pair_in_a_space: Callable[..., Pair],
) -> None:
    """The device computes the bound, whatever the card says: width * clip, rounded up by 2**-20.
    Planted bug: it does not, and epsilon a rating is whatever the server makes of it.
    """
    most = (1 - 2.0**-20) / 2
    pair_in_a_space(width=2.0, clip=most).exchange({0: 3.0}, FOUR).mechanism  # noqa: B018
    beyond = pair_in_a_space(width=2.0, clip=0.5)
    with pytest.raises(ParameterError, match="how far one rating moves a point must be at most 1"):
        beyond.exchange({0: 3.0}, FOUR).mechanism  # noqa: B018

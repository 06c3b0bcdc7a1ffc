"""What a call of a device raises, in the words that a person reads."""

from __future__ import annotations

from collections.abc import Awaitable

import pytest

from askew.errors import AskewError
from askew_client.views.problems import Problem, problem_of


async def raised(call: Awaitable[object]) -> Problem:
    with pytest.raises(AskewError) as caught:
        await call
    return problem_of(caught.value)

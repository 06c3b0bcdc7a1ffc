"""When a call is sent again: always the same bytes, whenever a server stops and another starts.

How often and when depends on what came back, on the clock and on pauses that were drawn before the
connection, never on the profile: who listens learns nothing from it. The pauses are jittered,
because the devices that lost a server at the same moment must not all come back at the same moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import grpc
import grpc.aio

from askew.noise.randomness import RandomBits
from askew.wire.trust import cannot_pass, nobody_there

PATIENCE = 5.0  # seconds after which a call that fails is not sent again
NOBODY = 0.9  # the same where there is no connection at all
_FIRST, _LONGEST = 0.1, 1.0  # seconds of a pause; each is twice the one before
_JITTER = (0.75, 1.25)
_STEPS = 1 << 16  # of what is drawn between the two
_PAUSES = 12  # more seconds than the patience, however short each is
# A server that drains answers CANCELLED for calls that it had not accepted yet.
_PASSING = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED})
_Reply = TypeVar("_Reply")


def drawn_pauses(bits: RandomBits) -> tuple[float, ...]:
    """The pauses of one call, in seconds; drawn before there is a connection."""
    least, most = _JITTER
    return tuple(
        min(_FIRST * 2**n, _LONGEST) * (least + (most - least) * bits.below(_STEPS) / _STEPS)
        for n in range(_PAUSES)
    )


async def persistent(
    send: Callable[[float], Awaitable[_Reply]],
    timeout: float,  # noqa: ASYNC109 (gRPC's own, for what is left of it)
    pauses: Sequence[float],
) -> _Reply:
    """The reply of `send(seconds left)`, which is called again while a failure may pass.

    timeout: seconds for all of it. Raises the last failure as grpc.aio.AioRpcError.
    """
    clock = asyncio.get_running_loop().time
    began = clock()
    for pause in pauses:
        try:
            return await send(began + timeout - clock())
        except grpc.aio.AioRpcError as error:
            passed = clock() - began
            if _is_over(error, passed, pause) or passed + pause >= timeout:
                raise
        await asyncio.sleep(pause)
    return await send(began + timeout - clock())


def _is_over(error: grpc.aio.AioRpcError, passed: float, pause: float) -> bool:
    """Whether a call that failed, after `passed` seconds, is not worth another after a pause.

    A false certificate stays false. Where nobody listens, a server that starts again may within a
    second; what is there and fails for a while has the whole patience.
    """
    details = error.details() or ""
    if error.code() not in _PASSING or cannot_pass(details):
        return True
    return passed + pause > NOBODY if nobody_there(details) else passed >= PATIENCE

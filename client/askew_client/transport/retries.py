"""When a call is sent again: always the same bytes, whenever a server stops and another starts.

How often and when depends on what came back and on the clock alone, never on the profile: who
listens learns nothing from it. The pauses are jittered, because the devices that lost a server at
the same moment must not all come back at the same moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import grpc
import grpc.aio

from askew.randomness import RandomBits
from askew.wire.trust import cannot_pass, nobody_there

PATIENCE = 5.0  # seconds after which a call that fails is not sent again
NOBODY = 0.9  # the same where there is no connection at all
_FIRST, _LONGEST = 0.1, 1.0  # seconds of a pause; each is twice the one before
_JITTER = (0.75, 1.25)
_STEPS = 1 << 16  # of what is drawn between the two
# A server that drains answers CANCELLED for calls that it had not accepted yet.
_PASSING = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED})
_Reply = TypeVar("_Reply")


async def persistent(
    send: Callable[[float], Awaitable[_Reply]],
    timeout: float,  # noqa: ASYNC109 (gRPC's own, for what is left of it)
    bits: RandomBits,
) -> _Reply:
    """The reply of `send(seconds left)`, which is called again while a failure may pass.

    timeout: seconds for all of it. Raises the last failure as grpc.aio.AioRpcError.
    """
    clock, pause = asyncio.get_running_loop().time, _FIRST
    began = clock()
    while True:
        try:
            return await send(began + timeout - clock())
        except grpc.aio.AioRpcError as error:
            passed, wait = clock() - began, pause * _jitter(bits)
            if _is_over(error, passed, wait) or passed + wait >= timeout:
                raise
        await asyncio.sleep(wait)
        pause = min(2 * pause, _LONGEST)


def _is_over(error: grpc.aio.AioRpcError, passed: float, wait: float) -> bool:
    """Whether a call that failed, after `passed` seconds, is not worth another in `wait` seconds.

    A false certificate stays false. Where nobody listens, a server that starts again may within a
    second; what is there and fails for a while has the whole patience.
    """
    details = error.details() or ""
    if error.code() not in _PASSING or cannot_pass(details):
        return True
    return passed + wait > NOBODY if nobody_there(details) else passed >= PATIENCE


def _jitter(bits: RandomBits) -> float:
    least, most = _JITTER
    return least + (most - least) * bits.below(_STEPS) / _STEPS

"""The service of analysts: every method needs a verified principal, and nothing else names one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

import grpc

from askew.errors import Unauthenticated
from askew.wire import popularity_convert as convert
from askew.wire.v1 import popularity_pb2 as pb
from askew_server.network.admission import Admission
from askew_server.network.grpc_server import Call, Context, guarded_call
from askew_server.release.analyst_desk import AnalystDesk

_Answer = Callable[[bytes, str], Awaitable[bytes]]


class AnalystService:
    """One desk behind the two methods of the service."""

    name = pb.DESCRIPTOR.services_by_name["Analyst"].full_name

    def __init__(self, desk: AnalystDesk, admission: Admission) -> None:
        self._desk = desk
        self._admission = admission
        # A thread of its own, one count at a time: analysts who wait must not take the threads
        # from which stored releases are served.
        self._counting = ThreadPoolExecutor(1, "analysts")

    def handler(self) -> grpc.GenericRpcHandler:
        """What a gRPC server needs in order to serve this."""
        methods = {"TopK": self._top_k, "GetBudget": self._budget}
        return grpc.method_handlers_generic_handler(
            self.name,
            {
                name: grpc.unary_unary_rpc_method_handler(self._for_principal(answer))
                for name, answer in methods.items()
            },
        )

    def _for_principal(self, answer: _Answer) -> Call:
        """A handler that asks who calls before it looks at the message."""

        async def call(request: bytes, context: Context) -> bytes:
            return await answer(request, self._admission.principal(_authorization(context)))

        return guarded_call(call)

    async def _top_k(self, request: bytes, principal: str) -> bytes:
        question = convert.question_from_bytes(request)
        loop = asyncio.get_running_loop()
        answer = loop.run_in_executor(self._counting, self._desk.top_k, principal, question)
        stored, budget = await answer
        return convert.answer_to_bytes(stored, budget)

    async def _budget(self, request: bytes, principal: str) -> bytes:
        dataset = convert.budget_request_from_bytes(request)
        return convert.budget_to_bytes(
            await asyncio.to_thread(self._desk.budget, principal, dataset)
        )


def _authorization(context: Context) -> str:
    """The one authorization header. Raises Unauthenticated for none or several."""
    values = [
        value for name, value in context.invocation_metadata() or () if name == "authorization"
    ]
    if len(values) != 1 or not isinstance(values[0], str):
        raise Unauthenticated
    return values[0]

"""The service of analysts: every method needs a verified principal, and nothing else names one."""

from __future__ import annotations

from collections.abc import Callable

from askew.errors import Unauthenticated
from askew.wire.releases import (
    answer_to_bytes,
    budget_request_from_bytes,
    budget_to_bytes,
    question_from_bytes,
)
from askew.wire.v1 import popularity_pb2 as pb
from askew_server.release.job import AnalystDesk
from askew_server.serving.call import Answer, Caller, Job, QueueName, Service
from askew_server.serving.tokens import Tokens


class AnalystService(Service):
    """One desk behind the methods TopK and GetBudget."""

    name = pb.DESCRIPTOR.services_by_name["Analyst"].full_name

    def __init__(self, desk: AnalystDesk, tokens: Tokens) -> None:
        self._desk, self._tokens = desk, tokens
        self.methods = {
            "TopK": self._for_principal(self._top_k),
            "GetBudget": self._for_principal(self._budget),
        }

    def check(self) -> None:
        """Raise LedgerError where a data set that is offered is not in the ledger, or cannot be
        read from the file that was opened: one that was moved or removed since is still read.
        """
        self._desk.check()

    def _for_principal(self, answer: Callable[[bytes, str], Job]) -> Answer:
        def ask(request: bytes, caller: Caller) -> Job:
            # Who calls is asked before the message is looked at.
            if len(headers := caller()) != 1:
                raise Unauthenticated
            return answer(request, self._tokens.find(headers[0]))

        return ask

    def _top_k(self, request: bytes, principal: str) -> Job:
        question = question_from_bytes(request)

        def run() -> bytes:
            stored, budget = self._desk.top_k(principal, question)
            return answer_to_bytes(stored, budget)

        return Job(run, QueueName.ANALYSTS)

    def _budget(self, request: bytes, principal: str) -> Job:
        dataset = budget_request_from_bytes(request)
        return Job(lambda: budget_to_bytes(self._desk.budget(principal, dataset)))

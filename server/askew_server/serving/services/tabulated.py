"""Replies that were encoded before the first question: looked up by the numbers of a request.

What is found here is what the long way would find: a request that breaks any rule has no reply
here, so that the long way refuses it. Nothing is ever added, because a reply that comes sooner for
having been asked for before would tell others what was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from askew.randomized_response import ODDS_BITS, RandomizedResponse
from askew.signal import TasteMechanism
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.model.answer_tables import AnswerTable

_Key = tuple[str, int, int, int]
_Find = Callable[[Sequence[int]], int]
_Reply = Callable[[tuple[int, ...]], bytes]


class TabulatedReplies:
    """The replies of tables; equal slates share one."""

    def __init__(self, tables: Sequence[AnswerTable], reply: _Reply) -> None:
        """reply: to some items, ascending."""
        reply_once = cache(reply)
        self._tables: dict[_Key | None, tuple[_Find, list[bytes]]] = {}
        for table in tables:
            encoded = [reply_once(tuple(slate)) for slate in table.slates.tolist()]
            replies = [encoded[number] for number in table.numbers.tolist()]
            self._tables[_key_of(table.mechanism, table.k)] = table.cells.find, replies

    @property
    def size(self) -> int:
        """The bytes of all replies."""
        replies = {id(each): each for _, table in self._tables.values() for each in table}
        return sum(map(len, replies.values()))

    def find(self, message: pb.RetrieveRequest) -> bytes | None:
        """The reply to a request; None where it has to be made, or refused. O(d)."""
        table = self._tables.get(_key(message))
        if table is None or message.space_version or message.collection or not message.edition:
            return None
        find, replies = table
        cell = find(message.values)
        return None if cell < 0 else replies[cell]


def _key(message: pb.RetrieveRequest) -> _Key | None:
    match message.WhichOneof("mechanism"):
        case "lattice" as name:
            lattice = message.lattice
            return name, lattice.step_exponent, lattice.inverse_rate, message.k
        case "randomized_response" as name:
            response = message.randomized_response
            return name, response.buckets, response.odds, message.k
        case _:
            return None


def _key_of(mechanism: TasteMechanism, k: int) -> _Key:
    """As a request spells it."""
    if isinstance(mechanism, RandomizedResponse):
        odds = int(mechanism.odds * 2**ODDS_BITS)
        return "randomized_response", mechanism.buckets, odds, k
    return "lattice", mechanism.step_exponent, mechanism.inverse_rate, k

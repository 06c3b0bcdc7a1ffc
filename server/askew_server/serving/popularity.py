"""The public service of stored releases: it holds a reader of them and nothing else.

There is no ledger to write to, no engine and no key in this module or behind it, so no call can
spend, count or draw. A contract checks who may import what.

The service keeps replies, because a release never changes. It gives a kept reply as long as the
ledger's files look as they did when it read them. When they do not, it compares the id
of the act that stored the release: a restored ledger may have another under the same number.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock

from askew.wire.releases import (
    PAGE,
    charge_from_bytes,
    document_to_bytes,
    page_request_from_bytes,
    page_to_bytes,
)
from askew.wire.v1 import popularity_pb2 as pb
from askew_server.published.reader import Mark, ReleaseReader
from askew_server.serving.call import Answer, Caller, Job


class PopularityService:
    """Stored releases behind the two methods of the service."""

    name = pb.DESCRIPTOR.services_by_name["Popularity"].full_name

    def __init__(self, reader: ReleaseReader) -> None:
        self._reader = reader
        self._kept = KeptReleases(reader, document_to_bytes)

    @property
    def methods(self) -> Mapping[str, Answer]:
        """What is answered."""
        return {"GetRelease": self._release, "ListReleases": self._page}

    def check(self) -> None:
        """Raises LedgerError for a file that cannot be read."""
        self._reader.check()

    def _release(self, request: bytes, _: Caller) -> bytes | Job:
        charge = charge_from_bytes(request)
        kept = self._kept.at_hand(charge)
        return kept if kept is not None else Job(lambda: self._kept.read(charge))

    def _page(self, request: bytes, _: Caller) -> Job:
        dataset, after = page_request_from_bytes(request)
        return Job(lambda: self._page_after(dataset, after))

    def _page_after(self, dataset: str, after: int) -> bytes:
        page = self._reader.page(dataset, after, PAGE)
        return page_to_bytes(page.summaries, more=page.more)


MAX_KEPT = 1 << 26  # bytes of replies, beside the longest one


@dataclass(frozen=True)
class _KeptReply:
    mark: Mark
    stored_by: str
    reply: bytes


class KeptReleases:
    """The replies to the questions for one release, of a reader. Safe for several threads.

    reply_of: what is sent for a document, made once. Raises what the reader raises.
    """

    def __init__(self, reader: ReleaseReader, reply_of: Callable[[bytes], bytes]) -> None:
        self._reader, self._reply_of = reader, reply_of
        self._kept: OrderedDict[int, _KeptReply] = OrderedDict()
        self._size, self._lock = 0, Lock()

    def at_hand(self, charge: int) -> bytes | None:
        """The reply, if it is kept and nothing was written since. Looks at two files' dates."""
        with self._lock:
            kept = self._kept.get(charge)
            if kept is not None:
                self._kept.move_to_end(charge)
        return kept.reply if kept is not None and kept.mark == self._reader.mark() else None

    def read(self, charge: int) -> bytes:
        """The reply, kept or from the file. Raises NotFound, LedgerError."""
        mark = self._reader.mark()  # before reading: what is written from now on changes it
        stored_by = self._reader.stored_by(charge)
        with self._lock:
            kept = self._kept.get(charge)
        same = kept is not None and kept.stored_by == stored_by
        reply = kept.reply if kept and same else self._reply_of(self._reader.document(charge))
        self._keep(charge, _KeptReply(mark, stored_by, reply))
        return reply

    def _keep(self, charge: int, made: _KeptReply) -> None:
        with self._lock:
            before = self._kept.pop(charge, None)
            self._size += len(made.reply) - (len(before.reply) if before else 0)
            self._kept[charge] = made
            while self._size > MAX_KEPT and len(self._kept) > 1:
                _, oldest = self._kept.popitem(last=False)
                self._size -= len(oldest.reply)

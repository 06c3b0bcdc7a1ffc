"""The public service of stored releases: it holds a reader of them and nothing else.

There is no ledger to write to, no engine and no key in this module or behind it, so no call can
spend, count or draw. A contract checks who may import what.
"""

from __future__ import annotations

from askew.wire.releases import (
    PAGE,
    charge_from_bytes,
    document_to_bytes,
    page_request_from_bytes,
    page_to_bytes,
)
from askew.wire.v1 import popularity_pb2 as pb
from askew_server.published.reader import ReleaseReader
from askew_server.serving.call import Caller, Job, Service


class PopularityService(Service):
    """Stored releases behind the methods GetRelease and ListReleases."""

    name = pb.DESCRIPTOR.services_by_name["Popularity"].full_name

    def __init__(self, reader: ReleaseReader) -> None:
        self._reader = reader
        self.methods = {"GetRelease": self._release, "ListReleases": self._page}

    def check(self) -> None:
        """Raise LedgerError where the file of releases cannot be read."""
        self._reader.check()

    def _release(self, request: bytes, _: Caller) -> Job:
        charge = charge_from_bytes(request)
        return Job(lambda: document_to_bytes(self._reader.document(charge)))

    def _page(self, request: bytes, _: Caller) -> Job:
        dataset, after = page_request_from_bytes(request)

        def run() -> bytes:
            summaries, more = self._reader.page(dataset, after, PAGE)
            return page_to_bytes(summaries, more=more)

        return Job(run)

"""The public service of stored releases: it holds a reader of them and nothing else.

There is no ledger to write to, no engine and no key in this module or behind it, so no call can
spend, count or draw. Who may import what is checked by a contract.
"""

from __future__ import annotations

from collections.abc import Mapping

from askew.wire import popularity_convert as convert
from askew.wire.v1 import popularity_pb2 as pb
from askew_server.published.kept import KeptReleases
from askew_server.published.reader import ReleaseReader
from askew_server.serving.services.call import Answer, Caller, Job


class PopularityService:
    """Stored releases behind the two methods of the service."""

    name = pb.DESCRIPTOR.services_by_name["Popularity"].full_name

    def __init__(self, reader: ReleaseReader) -> None:
        self._reader = reader
        self._kept = KeptReleases(reader, convert.document_to_bytes)

    @property
    def methods(self) -> Mapping[str, Answer]:
        """What is answered."""
        return {"GetRelease": self._release, "ListReleases": self._page}

    def check(self) -> None:
        """Raises LedgerError for a file that cannot be read."""
        self._reader.check()

    def _release(self, request: bytes, _: Caller) -> bytes | Job:
        charge = convert.charge_from_bytes(request)
        kept = self._kept.at_hand(charge)
        return kept if kept is not None else Job(lambda: self._kept.read(charge))

    def _page(self, request: bytes, _: Caller) -> Job:
        dataset, after = convert.page_request_from_bytes(request)
        return Job(lambda: self._page_after(dataset, after))

    def _page_after(self, dataset: str, after: int) -> bytes:
        page = self._reader.page(dataset, after, convert.PAGE)
        return convert.page_to_bytes(page.summaries, more=page.more)

"""The public service of stored releases: it holds a reader of them and nothing else.

There is no ledger to write to, no engine and no key in this module or behind it, so no call can
spend, count or draw. Who may import what is checked by a contract.
"""

from __future__ import annotations

import asyncio

import grpc

from askew.wire import popularity_convert as convert
from askew.wire.v1 import popularity_pb2 as pb
from askew_server.network.grpc_server import guarded
from askew_server.published.kept import KeptReleases
from askew_server.published.reader import ReleaseReader


class PopularityService:
    """Stored releases behind the two methods of the service."""

    name = pb.DESCRIPTOR.services_by_name["Popularity"].full_name

    def __init__(self, reader: ReleaseReader) -> None:
        self._reader = reader
        self._kept = KeptReleases(reader, convert.document_to_bytes)

    def handler(self) -> grpc.GenericRpcHandler:
        """What a gRPC server needs in order to serve this."""
        methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            "GetRelease": grpc.unary_unary_rpc_method_handler(guarded(self._release)),
            "ListReleases": grpc.unary_unary_rpc_method_handler(guarded(self._page)),
        }
        return grpc.method_handlers_generic_handler(self.name, methods)

    async def _release(self, request: bytes) -> bytes:
        charge = convert.charge_from_bytes(request)
        kept = self._kept.at_hand(charge)
        return kept if kept is not None else await asyncio.to_thread(self._kept.read, charge)

    async def _page(self, request: bytes) -> bytes:
        dataset, after = convert.page_request_from_bytes(request)
        page = await asyncio.to_thread(self._reader.page, dataset, after, convert.PAGE)
        return convert.page_to_bytes(page.summaries, more=page.more)

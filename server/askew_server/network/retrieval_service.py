"""The retrieval service over gRPC: bytes in, checked, answered, bytes out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc

from askew.errors import NotFound
from askew.wire import convert, status
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.network.grpc_server import Context, guarded
from askew_server.retrieval.snapshot import Snapshot, SnapshotHolder


class RetrievalService:
    """The current snapshot behind the three methods of the service."""

    name = pb.DESCRIPTOR.services_by_name["Retrieval"].full_name

    def __init__(self, holder: SnapshotHolder) -> None:
        self._holder = holder
        self._encoded = _Encoded(holder.current)

    def handler(self) -> grpc.GenericRpcHandler:
        """What a gRPC server needs in order to serve this."""
        methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            "Retrieve": grpc.unary_unary_rpc_method_handler(guarded(self._retrieve)),
            "GetModelCard": grpc.unary_unary_rpc_method_handler(guarded(self._model_card)),
            "GetCatalog": grpc.unary_stream_rpc_method_handler(self._stream_catalog),
        }
        return grpc.method_handlers_generic_handler(self.name, methods)

    async def _retrieve(self, request: bytes) -> bytes:
        snapshot = self._holder.current
        query = convert.query_from_bytes(request, snapshot.card)
        # In a thread: health checks must not wait behind a scan of a large catalog.
        return convert.slate_to_bytes(await asyncio.to_thread(snapshot.answers.answer, query))

    async def _model_card(self, _: bytes) -> bytes:
        return self._of_current().card

    async def _stream_catalog(self, _: bytes, context: Context) -> AsyncIterator[bytes]:
        chunks = self._of_current().chunks
        if not chunks:
            await context.abort(*status.status_of(NotFound("catalog")))
        for chunk in chunks:
            yield chunk

    def _of_current(self) -> _Encoded:
        """What everybody gets alike, encoded once a snapshot."""
        if self._encoded.snapshot is not self._holder.current:
            self._encoded = _Encoded(self._holder.current)
        return self._encoded


class _Encoded:
    """The card and the catalog of one snapshot, as bytes."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.card = convert.card_to_bytes(snapshot.card)
        held = snapshot.catalog
        self.chunks = () if held is None else tuple(convert.catalog_to_chunks(held))

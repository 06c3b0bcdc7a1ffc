"""The retrieval service over gRPC: bytes in, checked, answered, bytes out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc

from askew.wire import convert
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.network.grpc_server import Context, guarded
from askew_server.retrieval.retriever import Retriever


class RetrievalService:
    """One model behind the three methods of the service."""

    name = pb.DESCRIPTOR.services_by_name["Retrieval"].full_name

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever
        self._card = convert.card_to_bytes(retriever.card)
        self._chunks = tuple(convert.catalog_to_chunks(retriever.catalog))

    def handler(self) -> grpc.GenericRpcHandler:
        """What a gRPC server needs in order to serve this."""
        methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            "Retrieve": grpc.unary_unary_rpc_method_handler(guarded(self._retrieve)),
            "GetModelCard": grpc.unary_unary_rpc_method_handler(guarded(self._model_card)),
            "GetCatalog": grpc.unary_stream_rpc_method_handler(self._stream_catalog),
        }
        return grpc.method_handlers_generic_handler(self.name, methods)

    async def _retrieve(self, request: bytes) -> bytes:
        query = convert.query_from_bytes(request, self._retriever.card)
        # In a thread: health checks must not wait behind a scan of a large catalog.
        return convert.slate_to_bytes(await asyncio.to_thread(self._retriever.answer, query))

    async def _model_card(self, _: bytes) -> bytes:
        return self._card

    async def _stream_catalog(self, _: bytes, __: Context) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk

"""The retrieval service over gRPC: bytes in, checked, answered, bytes out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from weakref import WeakKeyDictionary

import grpc

from askew.errors import NotFound
from askew.held_file import piece_of
from askew.model_card import ModelCard
from askew.wire import convert
from askew.wire.held import held_files
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.network.grpc_server import guarded
from askew_server.retrieval.snapshot import Snapshot, SnapshotHolder


class RetrievalService:
    """The current snapshot behind the three methods of the service."""

    name = pb.DESCRIPTOR.services_by_name["Retrieval"].full_name

    def __init__(self, holder: SnapshotHolder) -> None:
        self._holder = holder
        self._encoded = WeakKeyDictionary[Snapshot, _Encoded]()
        for version in holder.versions:  # before the first call: a large one takes seconds
            self._encoded_of(version)

    def handler(self) -> grpc.GenericRpcHandler:
        """What a gRPC server needs in order to serve this."""
        methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            "Retrieve": grpc.unary_unary_rpc_method_handler(guarded(self._retrieve)),
            "GetModelCard": grpc.unary_unary_rpc_method_handler(guarded(self._model_card)),
            "GetHeld": grpc.unary_unary_rpc_method_handler(guarded(self._held)),
        }
        return grpc.method_handlers_generic_handler(self.name, methods)

    async def _retrieve(self, request: bytes) -> bytes:
        edition = convert.edition_from_bytes(request)
        snapshot = self._holder.at(edition) if edition else self._holder.current
        query = convert.query_from_bytes(request, snapshot.card)
        # In a thread: health checks must not wait behind a scan of a large catalog.
        slate = await asyncio.to_thread(snapshot.answers.answer, query)
        return convert.slate_to_bytes(slate, snapshot.card)

    async def _model_card(self, _: bytes) -> bytes:
        return self._encoded_of(self._holder.current).card

    async def _held(self, request: bytes) -> bytes:
        wanted = convert.parse(pb.GetHeldRequest(), request)
        encoded = self._encoded_of(self._holder.at(wanted.edition))
        file = encoded.files.get(wanted.part)
        if file is None:
            raise NotFound("held file")
        piece = piece_of(file, wanted.start)
        return pb.GetHeldResponse(data=piece).SerializeToString()

    def _encoded_of(self, snapshot: Snapshot) -> _Encoded:
        """What everybody gets alike, encoded once a snapshot."""
        found = self._encoded.get(snapshot)
        if found is None:
            found = self._encoded[snapshot] = _Encoded(snapshot)
        return found


class _Encoded:
    """The card and the held files of one snapshot, as bytes."""

    def __init__(self, snapshot: Snapshot) -> None:
        card, held = snapshot.card, snapshot.catalog
        self.card = convert.card_to_bytes(card)
        self.files: Mapping[str, bytes] = {}
        if held is not None and isinstance(card, ModelCard):
            self.files = {str(part): file for part, file in held_files(card, held).items()}

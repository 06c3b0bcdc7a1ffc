"""The retrieval service: bytes in, checked, answered, bytes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from askew.errors import NotFound, StaleSpace
from askew.held_file import Head, Part, piece_of
from askew.model_card import ModelCard
from askew.signal import Query
from askew.wire import convert
from askew.wire.held import held_files
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.collections.collection import Picked
from askew_server.retrieval.snapshot import Snapshot, SnapshotHolder
from askew_server.serving.services.call import Answer, Caller, Job
from askew_server.serving.services.listings import ListingReplies
from askew_server.serving.services.slates import SlateReplies
from askew_server.serving.services.tabulated import TabulatedReplies


class RetrievalService:
    """The current snapshot behind the three methods of the service."""

    name = pb.DESCRIPTOR.services_by_name["Retrieval"].full_name

    def __init__(self, holder: SnapshotHolder) -> None:
        self._holder = holder
        self._encoded = WeakKeyDictionary[Snapshot, _Encoded]()
        self._listings = ListingReplies()
        for version in holder.versions:  # before the first call: a large one takes seconds
            self.make_ready(version)

    @property
    def methods(self) -> Mapping[str, Answer]:
        """What is answered."""
        return {
            "Retrieve": self._retrieve,
            "GetModelCard": self._model_card,
            "GetHeld": self._held,
        }

    def check(self) -> None:
        """Raises StaleSpace while no model is in force: every device is refused."""
        if not self._holder.in_force:
            raise StaleSpace

    def catalogs(self) -> Mapping[int, str]:
        """By their Mondays, the files that devices hold whole, by the beginning of a digest."""
        found = {each.since: self._encoded_of(each).files for each in self._holder.versions}
        return {
            since: Head.of(files[Part.WHOLE]).digest.hex()[:16]
            for since, files in found.items()
            if files
        }

    def make_ready(self, snapshot: Snapshot) -> Mapping[str, bytes]:
        """Makes what everybody gets alike of a snapshot, once: before it is swapped in. Gives the
        files that devices hold.
        """
        for collection in snapshot.collections:
            self._listings.make_ready(collection)
        return self._encoded_of(snapshot).files

    def _retrieve(self, request: bytes, _: Caller) -> bytes | Job:
        message = convert.parse(pb.RetrieveRequest(), request)
        edition = message.edition
        snapshot = self._holder.at(edition) if edition else self._holder.current
        reply = self._encoded_of(snapshot).tabulated.find(message)
        if reply is not None:
            return reply
        query = convert.query_from_message(message, snapshot.card)

        def made() -> bytes:
            return self._reply(snapshot, query)

        cost = snapshot.answers.cost(query)
        return Job(made, cost=cost) if cost else made()

    def _model_card(self, _: bytes, __: Caller) -> bytes:
        return self._encoded_of(self._holder.current).card

    def _held(self, request: bytes, _: Caller) -> bytes:
        wanted = convert.parse(pb.GetHeldRequest(), request)
        encoded = self._encoded_of(self._holder.at(wanted.edition))
        file = encoded.files.get(wanted.part)
        if file is None:
            raise NotFound("held file")
        piece = piece_of(file, wanted.start)
        return pb.GetHeldResponse(data=piece).SerializeToString()

    def _reply(self, snapshot: Snapshot, query: Query) -> bytes:
        picked = snapshot.answers.picked(query)
        if isinstance(picked, Picked):
            return self._listings.reply(picked)
        return self._encoded_of(snapshot).reply(*picked)

    def _encoded_of(self, snapshot: Snapshot) -> _Encoded:
        """What everybody gets alike, encoded once a snapshot."""
        found = self._encoded.get(snapshot)
        if found is None:
            found = self._encoded[snapshot] = _Encoded(snapshot)
        return found


class _Encoded:
    """The card, the held files and the replies of one snapshot, as far as they are made before."""

    def __init__(self, snapshot: Snapshot) -> None:
        card, held = snapshot.card, snapshot.catalog
        self.card = convert.card_to_bytes(card)
        self.files: Mapping[str, bytes] = {}
        self._slates: SlateReplies | None = None
        if held is not None and isinstance(card, ModelCard):
            self.files = {str(part): file for part, file in held_files(card, held).items()}
            self._slates = SlateReplies(card, held, self.files[Part.WHOLE])
        self.tabulated = TabulatedReplies(snapshot.tables, self.reply)

    def reply(self, items: Sequence[int], payloads: Sequence[bytes] = ()) -> bytes:
        """Some items of the catalog. Raises NotFound where there is none."""
        if self._slates is None:
            raise NotFound("catalog")
        return self._slates.reply(items, payloads)

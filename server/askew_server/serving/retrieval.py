"""The retrieval service: bytes in, checked, answered, bytes out.

The service keeps nothing of a question. It encodes before the first question what everybody gets
alike: the card, and the files that devices fetch. Nothing is ever added, because a reply that comes
sooner for having been asked for before would tell others what was asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from weakref import WeakKeyDictionary

from askew.catalog.catalog_file import FileHead, Part
from askew.errors import NotFound, StaleSpace
from askew.protocol.cards import ALL_NUMBER, MetricCard, ModelCard, PlaceSlate
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query
from askew.wire.catalog_file import catalog_files, live_to_bytes
from askew.wire.messages import parse
from askew.wire.places import all_places_to_bytes, metric_card_to_bytes, places_to_bytes
from askew.wire.queries import query_from_message
from askew.wire.tastes import card_to_bytes, slate_to_bytes
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.retrieval.snapshot import Snapshot, SnapshotHolder
from askew_server.serving.call import Caller, Job, Service


class RetrievalService(Service):
    """The snapshots of a holder behind the methods Retrieve and GetModelCard."""

    name = pb.DESCRIPTOR.services_by_name["Retrieval"].full_name

    def __init__(self, holder: SnapshotHolder) -> None:
        self._holder = holder
        self.methods = {"Retrieve": self._retrieve, "GetModelCard": self._model_card}
        self._encoded = WeakKeyDictionary[Snapshot, _Encoded]()
        for snapshot in holder.snapshots:  # before the first call: a large one takes seconds
            self.make_ready(snapshot)

    def catalogs(self) -> Mapping[int, str]:
        """Return the first 16 hexadecimal digits of the digest of the file that devices hold whole,
        by its Monday; nothing for a model of which they hold none.
        """
        found = {each.since: self._encoded[each].files for each in self._holder.snapshots}
        return {
            since: FileHead.of(files[Part.WHOLE]).digest.hex()[:16]
            for since, files in found.items()
            if files
        }

    def make_ready(self, snapshot: Snapshot) -> None:
        """Encode what everybody gets alike of a snapshot: once, before it is swapped in."""
        if snapshot not in self._encoded:
            self._encoded[snapshot] = _Encoded(snapshot)

    def catalog_file(self, catalog_date: int, part: str) -> bytes:
        """Return the bytes of the file of a part ("whole", "default", "live") of the model in force
        on a Monday, in days since 1970-01-01. Raises NotFound where it has none, StaleSpace for a
        day without a model, that is no Monday, or that comes later than tomorrow.
        """
        file = self._encoded[self._holder.at(catalog_date)].files.get(part)
        if file is None:
            raise NotFound("catalog file")
        return file

    def _retrieve(self, request: bytes, _: Caller) -> bytes | Job:
        message = parse(pb.RetrieveRequest(), request)
        catalog_date = message.catalog_date
        snapshot = self._holder.at(catalog_date) if catalog_date else self._holder.current
        query = query_from_message(message, snapshot.card)

        card = snapshot.card
        questions = card.questions(query) if isinstance(card, MetricCard) else (query,)

        def reply() -> bytes:
            replies = [self._reply_to_one(snapshot, question) for question in questions]
            return all_places_to_bytes(replies) if query.collection == ALL_NUMBER else replies[0]

        slots = sum(map(snapshot.slots, questions))
        return Job(reply, slots=slots) if slots else reply()

    def _model_card(self, request: bytes, _: Caller) -> bytes:
        date, snapshot = parse(pb.GetModelCardRequest(), request).catalog_date, self._holder.current
        if date:
            with suppress(StaleSpace):  # of a clock that is wrong: what is in force today
                snapshot = self._holder.at(date)
        return self._encoded[snapshot].card

    def _reply_to_one(self, snapshot: Snapshot, query: Query) -> bytes:
        slate = snapshot.answer(query)
        if not isinstance(slate, PlaceSlate):
            return self._encoded[snapshot].reply(slate)
        if not isinstance(snapshot.card, MetricCard):
            raise NotFound("collection")
        asked = snapshot.card.collection(query.collection)
        return places_to_bytes(slate, asked, held=query.holds_rows)


class _Encoded:
    """The card and the catalog files of one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._card, catalog = snapshot.card, snapshot.catalog
        self.files: Mapping[str, bytes] = {}
        if isinstance(self._card, MetricCard):
            self.card = metric_card_to_bytes(self._card)
            self.files = {str(part): file for part, file in snapshot.files.items()}
            live = live_to_bytes(self._card, {e.card.name: e for e in snapshot.collections})
            if self.files and live is not None:
                self.files = {**self.files, Part.LIVE: live}
        else:
            self.card = card_to_bytes(self._card)
            if catalog is not None:
                files = catalog_files(self._card, catalog)
                self.files = {str(part): file for part, file in files.items()}

    def reply(self, slate: Slate) -> bytes:
        """Return the bytes of a reply with some items of the catalog. Raises NotFound where there
        is no catalog.
        """
        if not isinstance(self._card, ModelCard):
            raise NotFound("catalog")
        return slate_to_bytes(slate, self._card)

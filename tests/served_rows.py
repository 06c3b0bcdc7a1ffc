"""A small model of collections whose rows devices may hold, and a way to it without a socket."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from small_collections import GERMANY, cafes, posts

from askew.catalog.catalog_file import Part
from askew.errors import NotFound, OtherKind
from askew.protocol.cards import MetricRuleKind, ServingMode
from askew.protocol.collection import Collection, curve_order
from askew_client.catalog.cache import CatalogSource
from askew_server.collections.artifact import device_files
from askew_server.collections.model import MetricModel, model_of
from askew_server.retrieval.answers import Serving
from askew_server.retrieval.snapshot import SnapshotHolder
from askew_server.serving.call import Job
from askew_server.serving.retrieval import RetrievalService


def proposing(collection: Collection, mode: ServingMode) -> Collection:
    """A collection whose card proposes a mode, its items along the curve."""
    found = collection.part(curve_order(collection.coordinates))
    return replace(found, card=replace(found.card, mode=mode, version=found.own_version))


def rows_model(n: int = 300, mode: ServingMode = ServingMode.ASK) -> MetricModel:
    """Posts, which devices hold and rank, and cafés with live values, of which they ask, or which
    they hold and fetch live values of.
    """
    still, live = posts(n=n), cafes(n=n)
    rng = np.random.default_rng(3)
    still = replace(still, coordinates=np.round(rng.uniform((47, 5), (55, 16), (n, 2)), 5))
    collections = [proposing(still, ServingMode.HELD), proposing(live, mode)]
    model = model_of(GERMANY, collections, rule=MetricRuleKind.NEAREST)
    return replace(model, files=device_files(model))


class ServedModel(CatalogSource):
    """The service of a model, called in this process. calls: what was asked for, in order."""

    def __init__(self, model: MetricModel) -> None:
        self.model, self.calls = model, list[tuple[str, bytes]]()
        self._service = RetrievalService(SnapshotHolder(Serving(model).snapshot))

    @property
    def methods(self) -> list[str]:
        return [method for method, _ in self.calls]

    async def read(self, catalog_date: int, part: Part, start: int, size: int) -> bytes:
        self.calls.append(("file", f"{part} {size if part is Part.LIVE else start}".encode()))
        try:
            return self._service.catalog_file(catalog_date, part)[start : start + size]
        except NotFound:
            raise OtherKind("this server has no items for devices to hold", places=True) from None

    async def call(self, method: str, request: bytes) -> bytes:
        self.calls.append((method, request))
        found = self._service.methods[method](request, tuple)
        return found.run() if isinstance(found, Job) else found

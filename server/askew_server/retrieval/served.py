"""What serves a model of either kind.

What only one kind needs is imported for that kind alone: a server of collections starts without
what weighs tastes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from askew.editions import FIRST
from askew.model_card import Catalog, ModelCard
from askew.retrieval.buckets import BucketRule
from askew_server.collections.model import MetricModel
from askew_server.model.answer_tables import AnswerTables
from askew_server.model.payloads import Payloads
from askew_server.prior.people import PriorPeople
from askew_server.retrieval.snapshot import Serving, Snapshot


class TasteModel(Protocol):
    """What a model of tastes serves; the room of models has one, and knows more of it."""

    @property
    def card(self) -> ModelCard:
        """What is public of it."""

    @property
    def catalog(self) -> Catalog:
        """Its items."""

    @property
    def prior(self) -> PriorPeople | None:
        """People whom it may know."""

    @property
    def slates(self) -> BucketRule | None:
        """What its buckets are answered by, where that was chosen before."""

    @property
    def payloads(self) -> Payloads | None:
        """What only a reply brings of each item."""

    @property
    def tables(self) -> AnswerTables | None:
        """Answers made beforehand."""


@dataclass(frozen=True)
class Fixed:
    """A snapshot that stays."""

    snapshot: Snapshot
    changes: bool = False

    def refresh(self, _: Callable[[str], None], /) -> bool:
        """Nothing follows."""
        return False


def serving_of(
    model: TasteModel | MetricModel, directory: Path | None = None, since: int = FIRST
) -> Serving:
    """The model, ready to be served, with the live values of its directory where it has any. since:
    the Monday from which on it is in force.
    """
    if isinstance(model, MetricModel) and directory is not None:
        from askew_server.retrieval.live_values import LiveValues

        return LiveValues(directory, model)
    return Fixed(replace(snapshot_of(model), since=since))


def snapshot_of(model: TasteModel | MetricModel) -> Snapshot:
    """The model, ready to be served; builds what its rule needs.

    Raises ParameterError for a serving rule that needs a prior or a density where there is none.
    """
    if isinstance(model, MetricModel):
        from askew_server.retrieval.near.answers import MetricAnswers

        return MetricAnswers(model).snapshot
    from askew_server.retrieval.retriever import Retriever

    retriever = Retriever(
        model.card, model.catalog, model.prior, model.payloads, slates=model.slates
    )
    snapshot = retriever.snapshot
    tables = model.tables
    if tables is None or model.payloads is not None or not tables.fits(model.card):
        return snapshot  # the catalog may have changed since, as by a release that orders it
    return replace(snapshot, tables=tables.tables)

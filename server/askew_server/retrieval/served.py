"""From a model of either kind to what serves it, with the live values of its directory.

Live values are swapped in when their files change; card, items and index stay the same objects.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from askew.catalog.catalog import Catalog
from askew.catalog.catalog_file import FIRST
from askew.errors import ArtifactError
from askew.protocol.model_card import ModelCard
from askew_server.collections.artifact import Mark, live_path, mark_of, read_live
from askew_server.collections.model import MetricModel
from askew_server.retrieval.near.answers import MetricAnswers
from askew_server.retrieval.snapshot import Retriever


class TasteModel(Protocol):
    """What a model of tastes serves; the room of models has one, and knows more of it."""

    @property
    def card(self) -> ModelCard:
        """Return the model's card, all that is public of it."""

    @property
    def catalog(self) -> Catalog:
        """Return the model's items."""


class Serving:
    """A model, ready to be served, and the files of live values beside it, if it has any.

    snapshot: with what those said last. For one thread at a time. A file that cannot be used leaves
    the values of before.
    """

    def __init__(
        self, model: TasteModel | MetricModel, directory: Path | None = None, since: int = FIRST
    ) -> None:
        """Make ready what serves a model from the Monday `since` on. directory: where its files of
        live values are. Raises ParameterError for a serving rule that needs a density where there
        is none.
        """
        self._paths: dict[str, Path] = {}
        self._marks: dict[str, Mark] = {}
        self._metric: tuple[MetricModel, MetricAnswers] | None = None
        if isinstance(model, MetricModel):
            answers = MetricAnswers(model)
            self._metric = model, answers
            self.snapshot = replace(answers.snapshot, since=since)
            for card in model.card.collections:
                if directory is not None and card.is_live:
                    self._paths[card.name] = live_path(directory, card.number)
        else:
            self.snapshot = replace(Retriever(model.card, model.catalog).snapshot, since=since)

    def refresh(self, refused: Callable[[str], None], /) -> bool:
        """Read the files of live values that changed; return True if `snapshot` is another one now.
        refused: is called with why a file was not taken, a sentence without a value.
        """
        columns = {}
        for name, path in self._paths.items():
            mark = mark_of(path)
            if self._metric is None or mark is None or mark == self._marks.get(name):
                continue
            # Noted before it is read: a file replaced meanwhile is read once more.
            self._marks[name] = mark
            try:
                columns[name] = read_live(path, self._metric[0].collections[name])
            except ArtifactError as error:
                refused(f"live values of {name} were not taken, those of before stay: {error}")
        if self._metric is not None and columns:
            model, answers = self._metric
            model = model.with_live(columns)
            answers = answers.with_live(model)
            self._metric = model, answers
            self.snapshot = replace(answers.snapshot, since=self.snapshot.since)
        return bool(columns)

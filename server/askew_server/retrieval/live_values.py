"""The live values of a served model: noticed when their files change, and swapped in whole.

Nothing else of the snapshot is made anew: card, items and index are the same objects.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from askew.errors import ArtifactError
from askew_server.collections.live import LiveColumns, Mark, live_path, mark_of, read_live
from askew_server.collections.model import MetricModel
from askew_server.retrieval.near.answers import MetricAnswers
from askew_server.retrieval.snapshot import Snapshot

Refusal = Callable[[str], None]
"""Told why a file was not taken, without a value."""


class LiveValues:
    """The files of live values beside a model, and the model with what they said last.

    For one thread at a time. A file that cannot be used leaves the values of before.
    """

    def __init__(self, directory: Path, model: MetricModel) -> None:
        """Raises ParameterError for a serving rule that needs a density where there is none."""
        self._model, self._answers = model, MetricAnswers(model)
        self._paths = {
            each.name: live_path(directory, number)
            for number, each in enumerate(model.card.collections)
            if any(attribute.live for attribute in each.attributes)
        }
        self._marks: dict[str, Mark] = dict.fromkeys(self._paths)

    @property
    def snapshot(self) -> Snapshot:
        """What serves the model with its values of now."""
        return self._answers.snapshot

    @property
    def changes(self) -> bool:
        """Whether any collection has live values."""
        return bool(self._paths)

    def refresh(self, refused: Refusal, /) -> bool:
        """Reads the files that changed. Whether there is another snapshot now."""
        columns = {}
        for name, path in self._paths.items():
            mark = mark_of(path)
            if mark is not None and mark != self._marks[name]:
                # Noted before it is read: a file replaced meanwhile is read once more.
                self._marks[name] = mark
                if (found := self._read(name, path, refused)) is not None:
                    columns[name] = found
        if columns:
            self._model = self._model.with_live(columns)
            self._answers = self._answers.with_live(self._model)
        return bool(columns)

    def _read(self, name: str, path: Path, refused: Refusal) -> LiveColumns | None:
        try:
            return read_live(path, self._model.collections[name])
        except ArtifactError as error:
            refused(f"live values of {name} were not taken, those of before stay: {error}")
            return None

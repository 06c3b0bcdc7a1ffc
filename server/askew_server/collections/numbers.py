"""Numbers of collections: what questions call them, given once and kept for ever.

collection-numbers.txt    beside the models of a folder: a line "NUMBER NAME" for every
                          collection that one of them ever had
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from askew.errors import ArtifactError, DataError, ParameterError
from askew.protocol.metric_card import MAX_COLLECTIONS
from askew_server.folders import one_writer, replace_file

FILE = "collection-numbers.txt"


def numbers_for(models: Path, names: Sequence[str]) -> dict[str, int]:
    """Return the numbers of all collections that this folder ever had, by name, and of these ones:
    that of before, or the next that no other collection of this folder ever had, which is written
    to its file first.

    Raises DataError for a file that gives a number twice, ParameterError where all numbers are
    given, and ArtifactError where the file cannot be written.
    """
    path = models / FILE
    try:
        models.mkdir(parents=True, exist_ok=True)
        with one_writer(models):
            numbers = _read(path)
            for name in names:
                if name not in numbers:
                    numbers[name] = max(numbers.values(), default=-1) + 1
            if max(numbers.values(), default=0) >= MAX_COLLECTIONS:
                limit = f"one of the {MAX_COLLECTIONS} of {path}: none is free, and none is reused"
                raise ParameterError("collection", names[-1], limit)
            lines = [f"{number} {name}\n" for name, number in numbers.items()]
            replace_file(path, "".join(lines).encode(), 0o644)
            return numbers
    except OSError as error:
        raise ArtifactError(f"{path} cannot be written: {error.strerror}") from None


def _read(path: Path) -> dict[str, int]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError):
        raise DataError(f"{path} cannot be read: put its copy back") from None
    numbers: dict[str, int] = {}
    for at, line in enumerate(lines, 1):
        number, _, name = line.partition(" ")
        if not (number.isascii() and number.isdigit() and int(number) < MAX_COLLECTIONS and name):
            raise DataError(f'{path}, line {at}: it must be a number and a name, "3 pharmacies"')
        if name in numbers or int(number) in numbers.values():
            raise DataError(
                f"{path}, line {at}: this number or name stands there before; devices hold cards "
                "that say which is whose, so a number is never given again: put its copy back"
            )
        numbers[name] = int(number)
    return numbers

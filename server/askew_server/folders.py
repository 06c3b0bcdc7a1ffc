"""Folders and files: a lock that ends with its process, a private place for copies of events, a
small file that is replaced whole, and a key that only its owner reads.

A private folder is removed when it is closed or, where its process died, by the next one that is
made in the same place. Who has the lock of a folder may remove it.

A folder of models names each by the Monday from which on it is in force.
"""

from __future__ import annotations

import datetime
import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from askew.catalog.catalog_file import is_catalog_date
from askew.errors import AccessError, ArtifactError, DataError, ParameterError


def locked(path: Path) -> int | None:
    """Return a descriptor that has the lock of a folder until it is closed; None where it is
    locked already, also by this process, or is gone.
    """
    try:
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.stat().st_ino == os.fstat(held).st_ino:  # not removed by who held it before
            return held
    except OSError:
        pass
    os.close(held)
    return None


@contextmanager
def one_writer(folder: Path) -> Iterator[None]:
    """Wait until no other process has the lock of a folder, and hold it while the body of a `with`
    changes files there. Raises OSError.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def replace_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write content to a file in place of what is there, if anything, durably. Raises OSError, in
    which case the old file is still there, or the new one.
    """
    folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)  # or nothing is replaced
    try:
        # One name: who calls this for a path holds its lock, and a crash leaves one draft at most.
        draft = path.with_name(f"{path.name}.new")
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        try:
            while content:
                content = content[os.write(file, content) :]
            os.fsync(file)
        finally:
            os.close(file)
        draft.replace(path)
        os.fsync(folder)
    finally:
        os.close(folder)


def is_private(status: os.stat_result) -> bool:
    """Return True for a regular file that nobody but its owner may read, write or execute. A file
    that root gave to a group, as one who mounts secrets does, may be read by that group, unless
    this process is root's.
    """
    is_mounted = status.st_uid == 0 and os.geteuid() != 0
    return stat.S_ISREG(status.st_mode) and not status.st_mode & (0o037 if is_mounted else 0o077)


def read_private(path: Path) -> bytes:
    """Return the bytes of a key file, the first megabyte (2**20) at most. Raises AccessError where
    others could read the file, it is no regular file, or it cannot be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would wait for a writer
        with os.fdopen(handle, "rb") as file:
            if not is_private(os.fstat(handle)):
                raise AccessError(f"the key file {path} must be a regular file of mode 0600")
            return file.read(_MOST_BYTES)
    except OSError as error:
        raise AccessError(f"the key file {path} cannot be read: {error.strerror}") from None


def write_new(files: dict[Path, bytes]) -> None:
    """Write new files of these contents, those named .key of mode 0600, others 0644, and make their
    folders. Raises AccessError where one is there already, and then writes none, and where one
    cannot be made.
    """
    for path in files:
        if os.path.lexists(path):
            raise AccessError(
                f"{path} is there already and was left alone: name another folder, or remove it"
            )
    for path, content in files.items():
        mode = 0o600 if path.suffix == ".key" else 0o644
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
        except OSError as error:
            raise AccessError(f"{path} cannot be made: {error.strerror}") from None


_MOST_BYTES = 1 << 20  # of a key file
_PREFIX = "askew-count-"
_TRIES = 10  # against others who remove what they find without a lock


class PrivateFolder:
    """A new folder of mode 0700. Raises DataError where there can be none."""

    def __init__(self, within: Path | None = None) -> None:
        """Make the folder in `within`; or in TMPDIR, or /var/tmp, which is a disk where /tmp is
        not; or where Python makes temporary files if that cannot be written to.
        """
        place = within
        if place is None:
            place = Path(os.environ.get("TMPDIR") or "/var/tmp")  # noqa: S108 (a folder of our own)
            if not os.access(place, os.W_OK | os.X_OK):
                place = Path(tempfile.gettempdir())
        try:
            _remove_left_behind(place)
            for _ in range(_TRIES):
                self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
                held = locked(self.path)
                if held is not None:
                    break
            else:
                raise OSError(None, "others remove it at once")
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise DataError(f"{place}: no folder for temporary files there ({reason})") from None
        self._remove = weakref.finalize(self, _let_go, self.path, held)

    def close(self) -> None:
        """Remove the folder with all that is in it; a second call does nothing."""
        self._remove()


def _remove_left_behind(place: Path) -> None:
    for path in place.glob(f"{_PREFIX}*"):
        try:
            status = path.lstat()
        except FileNotFoundError:  # removed by another who looks, or by its own
            continue
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            continue
        held = locked(path)
        if held is not None:
            _let_go(path, held)


def _let_go(path: Path, held: int) -> None:
    shutil.rmtree(path, ignore_errors=True)
    os.close(held)


_EPOCH = datetime.date(1970, 1, 1)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
MOST_MODELS = 3  # of a folder: the one before, the one in force, and the next


def today() -> int:
    """Return the day by UTC, as days since 1970-01-01."""
    return int(time.time() // 86_400)


def date_of_text(name: str, text: str) -> int:
    """Return a Monday, such as "2026-11-23", as days since 1970-01-01: 20780. Raises
    ParameterError, which names the parameter `name`, for another day, one before 1970, and for text
    that is no day.
    """
    try:
        day = (datetime.date.fromisoformat(text) - _EPOCH).days
    except ValueError:
        raise ParameterError(name, text, "a Monday, such as 2026-11-23") from None
    if not is_catalog_date(day):
        raise ParameterError(name, text, "a Monday: that is when devices look for a new file")
    return day


def text_of_date(catalog_date: int) -> str:
    """Return a day, given as days since 1970-01-01, as text such as "2026-11-23"."""
    return (_EPOCH + datetime.timedelta(days=catalog_date)).isoformat()


def models_in(folder: Path) -> dict[int, Path]:
    """Return what a folder holds under names of Mondays, "2026-11-23", by these Mondays in days
    since 1970-01-01, the oldest first; names of another form are left alone.

    Raises ArtifactError for a folder that cannot be read or holds more than three, and
    ParameterError for a name of this form that is no Monday, such as "2026-13-45".
    """
    try:
        names = sorted(path.name for path in folder.iterdir() if _DATE.fullmatch(path.name))
    except OSError as error:
        raise ArtifactError(f"{folder} cannot be read: {error.strerror}") from None
    models = {date_of_text("the name of a model", name): folder / name for name in names}
    if len(models) > MOST_MODELS:
        raise ArtifactError(
            f"{folder} holds {len(models)} models, and a server answers from at most"
            f" {MOST_MODELS}: move the oldest away, {names[0]}"
        )
    return models

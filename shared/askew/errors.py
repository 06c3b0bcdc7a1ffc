"""Every error that Askew raises on purpose: subclasses of `AskewError`.

Messages name public values, types and limits only: no profile, rating, title, score or pick.
"""

from __future__ import annotations

import copyreg
import errno
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # commands that only print their help do without
    from collections.abc import Iterable
    from fractions import Fraction


_READ_ONLY = "it or its directory is read-only: make both writable by this account"
_FULL = "the disk is full: free some space, then try again"
_BUSY = "another program kept it locked: wait for that program, or end it, then try again"
_DAMAGED = "it is damaged: put a backup in its place"
_NOT_OPENED = "its directory is missing or read-only: make one that this account may write"
_FAILED = "the disk failed: look at the system's log, and free space if it is full"
_OF_SQLITE = {  # by SQLite's primary codes: https://www.sqlite.org/rescode.html
    5: _BUSY,  # SQLITE_BUSY
    6: _BUSY,  # SQLITE_LOCKED
    8: _READ_ONLY,  # SQLITE_READONLY
    10: _FAILED,  # SQLITE_IOERR
    11: _DAMAGED,  # SQLITE_CORRUPT
    13: _FULL,  # SQLITE_FULL
    14: _NOT_OPENED,  # SQLITE_CANTOPEN
    26: f"it is no SQLite file, or {_DAMAGED}",  # SQLITE_NOTADB
}
_OF_SYSTEM = {
    errno.EROFS: _READ_ONLY,
    errno.EACCES: _READ_ONLY,
    errno.EPERM: _READ_ONLY,
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EIO: _FAILED,
}


def storage_reason(error: Exception) -> str:
    """Return why a file of ours cannot be used and what to do, for what SQLite or the system said,
    with that in parentheses: "the disk is full: free some space, then try again (SQLITE_FULL)".

    Of a system's error that is not listed, its own words alone; "SQLite refused (NAME)" for
    another. SQLite's own text is left out: it may quote the file.
    """
    if isinstance(error, UnicodeDecodeError):  # a schema that is no text
        return _DAMAGED
    if isinstance(error, OSError):
        advice, said = _OF_SYSTEM.get(error.errno or 0), error.strerror or type(error).__name__
        return said if advice is None else f"{advice} ({said})"
    advice = _OF_SQLITE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    said = getattr(error, "sqlite_errorname", type(error).__name__)
    return f"{advice or 'SQLite refused'} ({said})"


_LONGEST_SHOWN = 200  # characters


def shown(value: object) -> str:
    """Return a value in words: text and bytes by repr(), in quotes, others by str().

    A tuple is its values with ", " between, "none" if empty; of what is longer than 200 characters,
    the opening quote among them, the first 200 and "...".
    """
    if isinstance(value, tuple):
        return ", ".join(map(shown, value)) or "none"
    try:
        text = repr(value) if isinstance(value, (str, bytes)) else str(value)
    except ValueError:  # Python writes no number of more than some thousand digits
        return "a number of too many digits to write"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def maybe(name: str, names: Iterable[str]) -> str:
    """Return " (perhaps NAME)" with the name nearest to a wrong one, whatever its case, "" where
    none is near: " (perhaps epsilon)" for "Epsilom".
    """
    from difflib import get_close_matches  # of a message that few see

    by_key = {name.casefold(): name for name in names}
    close = get_close_matches(name[:_LONGEST_SHOWN].casefold(), by_key, 1)
    return f" (perhaps {by_key[close[0]]})" if close else ""


class AskewError(Exception):
    """Root of every deliberate error. It keeps text and attributes when it is pickled or copied."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out `__init__`, whose arguments are not those of the text that it made."""
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class ParameterError(AskewError, ValueError):
    """A public argument is outside its documented range.

    Attributes: name (of the parameter), value (a str as it is, all else as it is shown, so that
    the error holds no object of the caller's), limit (what would have been accepted).
    """

    def __init__(self, name: str, value: object, limit: str) -> None:
        super().__init__(f"{name} must be {limit}, got {shown(value)}")
        self.name, self.limit = name, limit
        self.value = value if isinstance(value, str) else shown(value)


class InfiniteCost(ParameterError):
    """The expected disutility under this noise does not exist."""


class ProfileError(AskewError):
    """The person's ratings cannot make a profile; the message names a line, never a title."""


class PreferenceError(ProfileError):
    """Preferences that cannot be read. The message has no word of them."""


class PlaceError(AskewError):
    """A position, a value or a named place cannot be used; the message never repeats a position."""


class UnclearTown(PlaceError):
    """A name of no town that this device knows, or of several.

    Attribute: choices, what may be meant, a line each: for who typed it, and in no message.
    """

    def __init__(self, text: str, choices: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.choices = choices


class BudgetExceeded(AskewError):
    """A charge would pass a cap; nothing was drawn and nothing was sent.

    Attributes: requested, spent, cap (exact); measure: what the three numbers count; whose: what
    the cap is of, in words; next_month: the day on which the next month begins, as "2026-12-01", or
    None; renewed: whether the cap then begins anew.
    """

    def __init__(  # noqa: PLR0913
        self,
        requested: Fraction,
        spent: Fraction,
        cap: Fraction,
        *,
        measure: str = "epsilon of one rating",
        whose: str = "lifetime cap",
        next_month: str | None = None,
        renewed: bool = False,
    ) -> None:
        text = (
            f"this would cost {float(requested):.6g} {measure}; {float(spent):.6g} of the {whose} "
            f"{float(cap):.6g} is spent, {float(cap - spent):.6g} is left"
        )
        if next_month is not None and requested > cap:
            text += ". It is more than the whole cap: with these settings no month pays for it"
        elif next_month is not None:
            refills = "refills this cap alone" if renewed else "refills nothing"
            text += f" (the next month begins on {next_month}, and {refills})"
        super().__init__(text)
        self.requested, self.spent, self.cap = requested, spent, cap
        self.measure, self.whose = measure, whose
        self.next_month, self.renewed = next_month, renewed


class NotShown(AskewError):
    """A question is more than what the person was shown, so it is not asked.

    Nothing was drawn, charged or sent. Attribute: why, in words.
    """

    def __init__(self, why: str) -> None:
        super().__init__(
            f"{why}: no cost that was shown covers this question. Nothing was drawn, charged or "
            "sent"
        )
        self.why = why


class LedgerError(AskewError):
    """The local store of signals and charges cannot be read, trusted or written."""


class LedgerRefused(LedgerError):
    """The ledger differs from its mark, or the clock jumped: nothing is spent until accepted."""


class KeyReused(LedgerError):
    """The idempotency key stands for another request; nothing was charged. Take another key."""


class ChargePending(LedgerError):
    """This request was charged and has no release: it runs elsewhere, or it crashed.

    The charge stays spent and is never drawn again; a new attempt needs a new key and pays anew.
    """


class ConfigError(AskewError):
    """A configuration cannot be read or written, or does not hold together; it is as it was."""


class CacheError(AskewError):
    """What a device holds of a catalog cannot be kept, or another program is fetching it."""


class NoRandomness(AskewError):
    """The kernel's source failed: there is no other, and nothing is drawn without it.

    A device charges and sends no signal that was not whole before; one that was stays charged, and
    is sent again for nothing. An operator's charge was made before; it stays.
    """

    def __init__(self, why: str) -> None:
        text = "the kernel gave no random bytes, so nothing more was drawn"
        super().__init__(f"{text}; try again, or restart this machine ({why})")


class NotReady(AskewError):
    """The device was still at work when its connection was to begin: nothing was sent.

    What was charged by then is the next that is sent, when the person asks again.
    """

    def __init__(self) -> None:
        super().__init__("this device was not ready in time, and sent nothing")


class ConnectionOpen(AskewError):
    """Nothing private is worked on while one of this device's connections is open."""

    def __init__(self) -> None:
        super().__init__("this device is talking to a server, and works on nothing else meanwhile")


class DataError(AskewError):
    """A file of ratings, items or events cannot be read; the message names what to mend."""


class ArtifactError(AskewError):
    """A model directory is incomplete, altered or hostile: copy it again, or make it anew."""


class AccessError(AskewError):
    """A key file is missing, readable by others, or damaged; the message names the path only."""


class WireError(AskewError):
    """A message from the other side breaks the protocol."""


class Malformed(WireError):
    """Not a message of the expected type, or a field of the wrong size."""


class DimensionMismatch(WireError):
    """A vector has another dimension than the feature space. Attributes: got, expected."""

    def __init__(self, got: int, expected: int) -> None:
        super().__init__(f"the vector has dimension {got}, the feature space has {expected}")
        self.got, self.expected = got, expected


class OutOfRange(WireError):
    """A number is beyond its limit. Attributes: name, limit."""

    def __init__(self, name: str, limit: str) -> None:
        super().__init__(f"{name} must be {limit}")
        self.name, self.limit = name, limit


class OtherKind(WireError):
    """The server's space is of the other of the two kinds: nothing is wrong with it.

    Attribute: places, whether it is asked near a place, and not for titles.
    """

    def __init__(self, text: str = "", *, places: bool = False) -> None:
        super().__init__(text)
        self.places = places


class StaleSpace(WireError):
    """Of a space that this server does not serve, a Monday that it does not answer, or items that
    it does not answer about.
    """

    def __init__(self) -> None:
        super().__init__("this server does not answer for that space, or not for that Monday")


class Unauthenticated(WireError):
    """No credentials, or false ones. It does not say which."""

    def __init__(self) -> None:
        super().__init__("valid credentials are needed")


class NotFound(WireError):
    """Nothing of this name, as far as the caller may know. Attribute: what."""

    def __init__(self, what: str) -> None:
        super().__init__(f"there is no such {what}")
        self.what = what


class Refused(WireError):
    """A question that was understood and may not be answered now. The text says why."""


class TransportError(AskewError):
    """No usable answer came back."""


class Unreachable(TransportError):
    """No connection to the server. Attribute: why, in words, or "" where nobody answered."""

    def __init__(self, text: str = "", why: str = "") -> None:
        super().__init__(f"{text}: {why}" if why else text)
        self.why = why


class TooSlow(TransportError):
    """The deadline passed before the answer came."""


class Overloaded(TransportError):
    """The server refused the call for now."""


class ServerFailed(TransportError):
    """The server failed, or answered with a status that the protocol does not use."""

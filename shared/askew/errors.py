"""Every error that Askew raises on purpose.

AskewError
├── ParameterError            a public argument is outside its documented range
│   └── InfiniteCost          a disutility whose expected cost does not exist
├── ProfileError              the person's own ratings cannot make a profile
├── BudgetExceeded            a charge would pass the lifetime cap
├── LedgerError               the store of signals and charges cannot be trusted or written
│   ├── LedgerFrozen          ledger and anchor disagree: no spending until an operator acts
│   ├── KeyReused             an idempotency key that stands for another request
│   └── ChargePending         a charge that is spent and has no release, or not yet
├── DataError                 a file of ratings or items cannot be read
├── ArtifactError             a model directory is incomplete, altered or hostile
├── WireError                 a message from the other side breaks the protocol
│   ├── Malformed             not a message at all, or a field of the wrong size
│   ├── DimensionMismatch     a vector of another dimension
│   ├── OutOfRange            a number beyond the limit
│   └── StaleSpace            a feature space that this server does not serve
└── TransportError            no usable answer came back
    ├── Unreachable           no connection
    ├── TooSlow               the deadline passed
    ├── Overloaded            the server refused the call for now
    └── ServerFailed          the server failed, or answered with a code of its own

Messages name public values, types and limits only: no profile, rating, title, score or pick.
"""

from __future__ import annotations

from fractions import Fraction


class AskewError(Exception):
    """Root of every deliberate error."""


class ParameterError(AskewError, ValueError):
    """A public argument is outside its documented range.

    Attributes: name (of the parameter), value, limit (what would have been accepted).
    """

    def __init__(self, name: str, value: object, limit: str) -> None:
        super().__init__(f"{name} must be {limit}, got {value!r} ({type(value).__name__})")
        self.name, self.value, self.limit = name, value, limit


class InfiniteCost(ParameterError):
    """The expected disutility under this noise does not exist."""


class ProfileError(AskewError):
    """The person's ratings cannot make a profile; the message names a line, never a title."""


class BudgetExceeded(AskewError):
    """A charge would pass the lifetime cap; nothing was drawn and nothing was sent.

    Attributes: requested, spent, cap (exact), and measure: what the three numbers count.
    """

    def __init__(
        self,
        requested: Fraction,
        spent: Fraction,
        cap: Fraction,
        measure: str = "epsilon between any two people",
    ) -> None:
        super().__init__(
            f"this would cost {float(requested):.6g} {measure}; "
            f"{float(spent):.6g} of the lifetime cap {float(cap):.6g} is spent"
        )
        self.requested, self.spent, self.cap, self.measure = requested, spent, cap, measure


class LedgerError(AskewError):
    """The local store of signals and charges cannot be read, trusted or written."""


class LedgerFrozen(LedgerError):
    """The ledger and its anchor disagree; nothing is spent until an operator unfreezes it."""


class KeyReused(LedgerError):
    """The idempotency key stands for another request; nothing was charged."""


class ChargePending(LedgerError):
    """This request was charged and has no release: it runs elsewhere, or it crashed.

    The charge stays spent and is never drawn again; a new attempt needs a new key and pays anew.
    """


class DataError(AskewError):
    """A file of ratings or items cannot be read."""


class ArtifactError(AskewError):
    """A model directory is incomplete, altered or hostile."""


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


class StaleSpace(WireError):
    """The signal was made for a feature space that this server does not serve."""

    def __init__(self) -> None:
        super().__init__("the signal was made for another feature space than the server's")


class TransportError(AskewError):
    """No usable answer came back."""


class Unreachable(TransportError):
    """No connection to the server."""


class TooSlow(TransportError):
    """The deadline passed before the answer came."""


class Overloaded(TransportError):
    """The server refused the call for now."""


class ServerFailed(TransportError):
    """The server failed, or answered with a status that the protocol does not use."""

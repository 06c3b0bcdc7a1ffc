"""What could not be done, as something calm to show."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from askew.errors import (
    AskewError,
    BudgetExceeded,
    CacheError,
    ConfigError,
    ConnectionOpen,
    LedgerError,
    LedgerRefused,
    NotReady,
    NotShown,
    OtherKind,
    ParameterError,
    PlaceError,
    PreferenceError,
    ProfileError,
    StaleSpace,
    TransportError,
    Unreachable,
    WireError,
)


class Trouble(Enum):
    """Why something could not be done. Each is a calm state of a screen."""

    UNREACHABLE = "the server cannot be reached"
    BUDGET = "the budget does not allow it"
    REFUSED = "the ledger waits for you"
    COST = "this is more than what was shown"
    STALE_SPACE = "the server has another feature space"
    HOSTILE = "the server's answer was refused"
    PROFILE = "the profile does not allow it"
    PLACE = "the place cannot be used"
    PREFERENCES = "the preferences cannot be read"
    SETTINGS = "a setting does not allow it"
    STORE = "a file cannot be used"
    BUSY = "this device is at work"
    OTHER = "it did not work"


@dataclass(frozen=True)
class Problem:
    """An error with its words: text says what happened, hint what the person can do.

    Neither has a private value. next_month is the day from which a fresh signal could be drawn, for
    a refused budget.
    """

    trouble: Trouble
    text: str
    hint: str
    error: AskewError = field(repr=False)
    next_month: datetime.date | None = None


_RATINGS: Final = (
    "Ask with a smaller epsilon_per_rating, or raise rating_monthly_cap or rating_lifetime_cap, "
    "whichever it is."
)
_TROUBLE: tuple[tuple[type[AskewError], Trouble, str], ...] = (
    (BudgetExceeded, Trouble.BUDGET, _RATINGS),
    (NotShown, Trouble.COST, "Look at what a question would cost now, and ask again."),
    (LedgerRefused, Trouble.REFUSED, "`askew budget` shows the ledger, `--accept` continues here."),
    (LedgerError, Trouble.STORE, "Do not delete it: it says what was spent."),
    (NotReady, Trouble.BUSY, "Ask again; what was charged is sent then."),
    (ConnectionOpen, Trouble.BUSY, "Try again when the answer is there."),
    (CacheError, Trouble.STORE, "What is held stays as it is; try again."),
    (ConfigError, Trouble.STORE, "What you chose holds until the app ends; it is not kept."),
    (PlaceError, Trouble.PLACE, "`askew place list` shows your places."),
    (PreferenceError, Trouble.PREFERENCES, "The order stays as it is, and nothing was sent."),
    (ProfileError, Trouble.PROFILE, "Look at the ratings in `askew profile list`."),
    (OtherKind, Trouble.OTHER, "`askew ask` asks this server for titles."),
    (StaleSpace, Trouble.STALE_SPACE, "Ask again; if that is no help, is today's date right?"),
    (WireError, Trouble.HOSTILE, "Nothing of the answer was used. Ask another server."),
    (TransportError, Trouble.UNREACHABLE, "Is the server running at this address?"),
    (ParameterError, Trouble.SETTINGS, "Change the setting that the message names."),
    (AskewError, Trouble.OTHER, ""),
)


_PLACES: Final = (
    "A place with a name is charged once and asked from for nothing: `askew place add`. Level "
    "county costs a quarter of town (`--level county`). The settings place_lifetime_cap and "
    "place_monthly_cap are the caps; each position without a name (`--unnamed`) counts too."
)


def problem_of(error: AskewError) -> Problem:
    """Return an error as something to show: its trouble, by its kind (UNREACHABLE of any
    TransportError, HOSTILE of most WireErrors, OTHER of the rest), its text, and a hint at what the
    person can do, "" where there is none; next_month, a date, is None but for a BudgetExceeded that
    has one.
    """
    trouble, hint = _row(type(error))
    if isinstance(error, ParameterError) and (error.name, error.value) == ("region", ""):
        hint = "`--region`, ASKEW_REGION or the configuration file sets it."
    if isinstance(error, OtherKind) and error.places:
        hint = "`askew near` asks this server, for what is near a place."
    if isinstance(error, Unreachable) and error.why:
        hint = "Is this the address that you mean, and `authority` the file of its certificates?"
    if isinstance(error, BudgetExceeded) and error.measure == "epsilon per kilometer":
        hint = _PLACES
    if isinstance(error, BudgetExceeded) and error.measure == "epsilon of one value on axes":
        hint = "Ask with a smaller epsilon_per_axis_unit, or raise axis_monthly_cap or "
        hint += "axis_lifetime_cap, whichever it is."
    next_month = error.next_month if isinstance(error, BudgetExceeded) else None
    day = None if next_month is None else datetime.date.fromisoformat(next_month)
    return Problem(trouble, str(error), hint, error, day)


def hint_of(kind: type[AskewError]) -> str:
    """Return in words what a person can do about an error of this kind, "Is the server running at
    this address?" of TransportError; "" where only its message says, as of AskewError.
    """
    return _row(kind)[1]


def _row(kind: type[AskewError]) -> tuple[Trouble, str]:
    return next((trouble, hint) for each, trouble, hint in _TROUBLE if issubclass(kind, each))

"""What several parts of the app say in words."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Final

from askew_client.views.answers import Connection
from askew_client.views.problems import Setback, Trouble

FROZEN: Final = (
    "Spending is frozen: the ledger lost something, or the clock jumped. Privacy (F4) shows its "
    "lines. Accepting it books what may have been lost, and spending goes on."
)


def places_only(setback: Setback) -> Setback:
    """What to say of a server that has places where a catalog was asked for."""
    text = "it has places, and no catalog of titles to rate"
    return replace(setback, trouble=Trouble.STALE_SPACE, text=text, hint="Near (F7) asks it;")


def number(value: Fraction | float) -> str:
    """A number as short as it is exact enough to read."""
    return f"{float(value):.4g}"


def of_the_axes(connection: Connection) -> str:
    """Which directions a map shows, where there are more; the numbers are those of the bars."""
    if connection.dimension == len(connection.map_axes):
        return ""
    shown = " and ".join(str(axis + 1) for axis in connection.map_axes)
    return f"; directions {shown} of {connection.dimension}, where this catalog differs most"


def settings_in_force(epsilon: Fraction, k: int) -> str:
    """What the person chose."""
    return f"From now on: ε {number(epsilon)}, k {k}. A signal already drawn stays for its month."


def raise_cap(old: Fraction, new: Fraction, *, kept: bool) -> str:
    """What a raised cap means, as a question."""
    return (
        f"Raise the lifetime cap from {number(old)} to {number(new)}"
        f"{', for good' if kept else ''}? All signals together could then tell more about you, "
        "and what has left cannot be called back."
    )


def at_rest(lock: str | None) -> str:
    """How the profile is kept."""
    if lock is None:
        return "Encrypted, and locked."
    return {
        "passphrase": "Encrypted with your passphrase.",
        "keyring": "Encrypted with a key in the system's keyring.",
    }.get(lock, "Kept in the clear, in a file that only you can read.")

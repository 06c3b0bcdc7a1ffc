"""How a device is served.

held   the device ranks what it holds, the same for everybody: nothing is sent
ask    it also sends one noisy signal, and ranks what comes back beside what it holds
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

DEVICE_BYTES: Final = 4_000_000
"""The largest file that a device holds by default: what is whole within it needs no signal."""
DEFAULT_BYTES: Final = 800_000
"""The file of the default items, where the whole is larger than that: a device holds and ranks as
many within 100 MB of memory (`make bench NAME=thin`).
"""


class ServingMode(StrEnum):
    """How a device is served."""

    HELD = "held"
    ASK = "ask"

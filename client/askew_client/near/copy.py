"""A named place as text for another device: where it truly is, and the signals that it has.

Private: it is written to a file of mode 0600. Without I/O.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from fractions import Fraction

from askew.dp.privacy import ANY_SPACE
from askew.errors import AskewError, PlaceError
from askew.protocol.signal import Signal
from askew.sizes import VERSION_BYTES
from askew_client.profile.named_place import NamedPlace, check_name
from askew_client.signals.record import decode_signal, encode_signal
from askew_client.signals.slots import check_slot

FORMAT = 1
MAX_BYTES = 1 << 16
_MAX_SIGNALS = 1000
_SPACE = re.compile(f"([0-9a-f]{{{2 * VERSION_BYTES}}})?")  # a server's axes, or ANY_SPACE


@dataclass(frozen=True)
class Copy:
    """A place, and its signals with the slots in which they were drawn."""

    name: str
    place: NamedPlace = field(repr=False)
    signals: tuple[tuple[str, Signal], ...] = field(repr=False)

    def check_whole(self) -> None:
        """Raises PlaceError unless a position has its noisy one, and values on axes have none."""
        of_no_space = [s for _, s in self.signals if s.space_version == ANY_SPACE]
        if len(of_no_space) != self.place.is_position:
            raise PlaceError("a copy of a position has one noisy position, and here it has not")

    def check_law(self, draw_cap: Fraction, epsilon: Fraction) -> None:
        """Raises PlaceError for a signal that shows more than this device lets one show: a position
        by the cap of a draw, a value by the epsilon that this device draws with.
        """
        for _, signal in self.signals:
            if signal.space_version == ANY_SPACE:
                drawn, most, measure = signal.map_noise.epsilon, draw_cap, "per kilometer"
            else:
                drawn, most, measure = signal.lattice.epsilon, epsilon, "per unit distance"
            if drawn > most:
                limit = f"this device's limit, {float(most):g} {measure}"
                raise PlaceError(f"the copied signal has a larger epsilon than {limit}")

    def to_text(self) -> str:
        """One line of JSON."""
        signals = [
            [signal.space_version, slot, encode_signal(signal).hex()]
            for slot, signal in self.signals
        ]
        said = {"askew place": FORMAT, "name": self.name, "signals": signals}
        return json.dumps(said | self.place.to_json(), ensure_ascii=False) + "\n"

    @classmethod
    def from_text(cls, text: str) -> Copy:
        """The inverse. Raises PlaceError for anything else, without repeating it."""
        try:
            value = json.loads(text[:MAX_BYTES])
            if value["askew place"] != FORMAT or len(value["signals"]) > _MAX_SIGNALS:
                raise ValueError
            check_name(value["name"])
            signals = tuple(
                [
                    (slot, decode_signal(space, bytes.fromhex(record)))
                    for space, slot, record in value["signals"]
                ]
            )
            for slot, signal in signals:
                check_slot(slot)
                if _SPACE.fullmatch(signal.space_version) is None:
                    raise ValueError
            return cls(value["name"], NamedPlace.from_json(value), signals)
        except (AskewError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise PlaceError("this is no copy of a place") from None

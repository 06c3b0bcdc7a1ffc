"""Askew's core: selection in one line, noise, placement and the types that the two roles share.

Pure: no I/O, no clock, no logging, no global state. Randomness, time and settings are arguments.
Only `askew.wire` knows protobuf and gRPC. What is named here is loaded when it is used.
"""

from __future__ import annotations

from importlib import import_module

__all__ = ["ADD_OR_REMOVE_ONE", "REPLACE_ONE", "TopK", "top_k"]
__version__ = "0.1.0"

TYPE_CHECKING = False  # as checkers of types read it; typing takes longer to load than the rest
if TYPE_CHECKING:
    from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE
    from askew.mechanisms.top_k import TopK, top_k
else:
    _ROOMS = {
        "ADD_OR_REMOVE_ONE": "askew.dp.privacy",
        "REPLACE_ONE": "askew.dp.privacy",
        "TopK": "askew.mechanisms.top_k",
        "top_k": "askew.mechanisms.top_k",
    }

    def __getattr__(name: str) -> object:
        if name not in _ROOMS:
            raise AttributeError(f"module 'askew' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_ROOMS[name]), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

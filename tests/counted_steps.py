"""How much work a call does, counted exactly: clocks are for machines with nothing else to do."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from datetime import datetime
from types import FrameType, ModuleType
from typing import Any

# Of modules, types and small containers; whose functions take a time that a text does not change.
_CONSTANT = (ModuleType, type, dict, list, tuple, set, datetime, type(None))


def steps_of(call: Callable[[], object], *constant: type) -> int:
    """The bytecode instructions of a call, and for each method of a text that it calls the length
    of that text. A C function whose steps cannot be told so, such as a pattern's, is an error,
    unless its type is named.
    """
    steps, untold = 0, set[str]()

    def traced(frame: FrameType, event: str, _: object) -> Any:
        nonlocal steps
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        steps += event == "opcode"
        return traced

    def profiled(_: FrameType, event: str, function: Any) -> None:
        nonlocal steps
        if event != "c_call" or function is sys.setprofile:
            return
        of = getattr(function, "__self__", None)
        if isinstance(of, str | bytes):
            steps += len(of)
        elif not isinstance(of, _CONSTANT + constant):
            untold.add(repr(function))

    before = sys.gettrace(), sys.getprofile()
    gc.disable()  # what others do after a collection is no step of the call
    sys.settrace(traced)
    sys.setprofile(profiled)
    try:
        call()
    finally:
        sys.setprofile(before[1])
        sys.settrace(before[0])
        gc.enable()
    assert not untold, f"no count of steps is known of {untold}"
    return steps

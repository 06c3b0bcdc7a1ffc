"""What may be told of an exception: its type's name, and the line of code that raised it.

Its text is never looked at, nor are the values in its frames: they could hold a request. A line of
code is the same for everybody.
"""

from __future__ import annotations

from types import TracebackType


def of_error(error: BaseException) -> dict[str, object]:
    """`error` and, where it was raised, `where`."""
    told: dict[str, object] = {"error": type(error).__name__}
    place = _innermost(error.__traceback__)
    return told | {"where": place} if place else told


def _innermost(trace: TracebackType | None) -> str | None:
    """The module and the line in which a trace ends."""
    if trace is None:
        return None
    while trace.tb_next is not None:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals.get("__name__", "unknown")
    return f"{module}:{trace.tb_lineno}"

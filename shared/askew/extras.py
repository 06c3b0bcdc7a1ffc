"""Which extra of this distribution brings a module that is not installed."""

from __future__ import annotations

_EXTRA_OF = {
    "matplotlib": "plots",
    "psycopg": "postgres",
    "pyspark": "spark",
    "textual": "tui",
}


def advice(missing: ModuleNotFoundError, role: str) -> str | None:
    """The command that installs what a role ("client" or "server") misses, in one line.

    None where the missing module is one of our own: that is a fault and no missing extra.
    """
    module = (missing.name or "").partition(".")[0]
    if not module or module.startswith("askew"):
        return None
    extras = [role] if module not in _EXTRA_OF else [role, _EXTRA_OF[module]]
    return f"{module} is not installed; it comes with pip install 'askew[{','.join(extras)}]'"

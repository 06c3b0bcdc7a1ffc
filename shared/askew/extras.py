"""What a command says that cannot start, and the streams that it starts with."""

from __future__ import annotations

import os
import sys

_EXTRA_OF = {
    "matplotlib": "plots",
    "psycopg": "postgres",
    "pyspark": "spark",
    "textual": "tui",
}


def advice(missing: ImportError, role: str) -> str | None:
    """Return what to do for a module that a role ("client" or "server") cannot import, in one line:
    "psycopg is not installed; in a clone, pip install '.[server,postgres]'".

    None where the module is one of our own, and for an ImportError that is no ModuleNotFoundError:
    these are faults and no missing extra. Such an error of google.protobuf returns its own message.
    """
    if not isinstance(missing, ModuleNotFoundError):
        return missing.msg if missing.name == "google.protobuf" else None
    module = (missing.name or "").partition(".")[0]
    if not module or module.startswith("askew"):
        return None
    extras = [role] if module not in _EXTRA_OF else [role, _EXTRA_OF[module]]
    # Until the name is on an index, a stranger could take it there.
    return f"{module} is not installed; in a clone, pip install '.[{','.join(extras)}]'"


def open_standard_streams() -> None:
    """Open the null device in place of each standard stream that is closed.

    Else Python has None there, and the next file that is opened, a ledger perhaps, takes the number
    of standard output, to which libraries write.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the least number that is free, which is this one
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115

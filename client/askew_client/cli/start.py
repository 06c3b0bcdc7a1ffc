"""Where the command `askew` starts: it says in one line which extra is missing, if any."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from askew.extras import advice, open_standard_streams


def main() -> None:
    """Run the command `askew`. On Windows, or where an extra is missing, exit with code 1 and one
    line on standard error that says so: nothing is imported before, since bare `askew` installs
    numpy alone.
    """
    if sys.platform == "win32":
        sys.exit("askew: it does not run on Windows; the Windows Subsystem for Linux (WSL) runs it")
    # Do less: numpy's threads turn in a loop before they sleep, some 25 ms of each processor.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # 2^4 turns, the fewest
    # What a start makes stays: looking through it for garbage, now or at the end, finds none.
    gc.set_threshold(50_000)
    atexit.register(gc.freeze)
    open_standard_streams()
    try:
        from askew_client.cli.main import main as run

        run()
    except ImportError as error:
        line = advice(error, "client")
        if line is None:
            raise
        sys.exit(f"askew: {line}")

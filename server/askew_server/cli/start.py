"""Where the command `askew-server` starts: it says in one line which extra is missing, if any."""

from __future__ import annotations

import sys

from askew.extras import advice, open_standard_streams


def main() -> None:
    """Run the command `askew-server`. On Windows, or where an extra is missing, exit with code 1
    and one line on standard error that says so: nothing is imported before, since bare `askew`
    installs numpy alone.
    """
    if sys.platform == "win32":
        sys.exit(
            "askew-server: it does not run on Windows; the Windows Subsystem for Linux (WSL) does"
        )
    open_standard_streams()
    try:
        from askew_server.cli.main import main as run

        run()
    except ImportError as error:
        line = advice(error, "server")
        if line is None:
            raise
        sys.exit(f"askew-server: {line}")

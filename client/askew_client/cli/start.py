"""Where the command `askew` starts: it says in one line which extra is missing, if any."""

from __future__ import annotations

import sys

from askew.extras import advice


def main() -> None:
    """Run the command. Nothing is imported before, since bare `askew` installs numpy alone."""
    try:
        from askew_client.cli.main import main as run

        run()
    except ModuleNotFoundError as error:
        line = advice(error, "client")
        if line is None:
            raise
        sys.exit(f"askew: {line}")

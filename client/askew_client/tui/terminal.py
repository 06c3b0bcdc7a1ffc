"""Whether there is a terminal to show the app on."""

from __future__ import annotations

import os
import sys

from askew.errors import AskewError


def check_terminal() -> None:
    """Raises AskewError where nobody can type, or see: the app would wait for a key for ever.

    A driver that is named in the environment brings its own keys and screen, as the browser's does.
    """
    streams = (sys.__stdin__, sys.__stderr__)  # where keys come from, and where the screen goes
    there = all(stream is not None and stream.isatty() for stream in streams)
    if not there and not os.environ.get("TEXTUAL_DRIVER"):
        raise AskewError(
            "the app needs a terminal for keys and screen; `askew --help` names commands that need "
            "none, and `askew tui --web` shows the app in a browser"
        )

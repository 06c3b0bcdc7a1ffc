"""`askew-server` with coins from a seed: the same counts then make the same release.

Run as a program: seeded_commands.py SEED COMMANDS, a JSON list of argument lists. Says as JSON the
exit code, standard output and standard error of each. What an engine itself writes to standard
error, from another process or from C, comes before that.
"""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout

import numpy as np

from askew.noise.randomness import RandomBits
from askew_server.cli import main as cli
from askew_server.cli import release_run


class SeededBits(RandomBits):
    """For tests: nobody is protected by these."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def read(self, count: int) -> bytes:
        return self._generator.bytes(count)


def run(arguments: list[str]) -> tuple[int, str, str]:
    """One command, as the console would run it."""
    sys.argv = ["askew-server", *arguments]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    code = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    texts = [each.buffer for each in (out, err)]
    assert all(isinstance(each, io.BytesIO) for each in texts)
    said, told = (each.getvalue().decode() for each in texts if isinstance(each, io.BytesIO))
    return code, said, told


def main(seed: int, commands: list[list[str]]) -> None:
    """All of them, each with the coins from the beginning."""
    setattr(release_run, "SystemBits", lambda: SeededBits(seed))  # noqa: B010
    sys.stdout.write(json.dumps([run(each) for each in commands]))


if __name__ == "__main__":
    main(int(sys.argv[1]), json.loads(sys.argv[2]))

"""CPU of commands from their start to their end, beside an interpreter that does nothing and pip.

    .venv/bin/python -m benchmarks.start_up

What shows stored things or help may take 120 ms, a question 300: from a profile that has one
rating, of a server on this machine whose own time is not counted. A question is answered by what is
held, or sent: then it is this month's, whose signal is sent again. All data are made up. Beside
questions stands what any program takes that imports numpy and gRPC.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from benchmarks.count import demo_server
from benchmarks.rows import OURS, Goal, Row, Work, finish, run

DEVICE, SERVER, ASKED = (Goal(milliseconds=most) for most in (100, 150, 200))
PLACE = "52.5, 13.4"


def program(*arguments: object, stdin: str = "") -> Work:
    """Return work that runs it in an interpreter of its own, and raises where it fails."""
    command = [sys.executable, *map(str, arguments)]
    kept = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # as installed: compiled once
    return lambda: subprocess.run(
        command, env=kept, input=stdin, text=True, stdout=subprocess.DEVNULL, check=True
    )


def contenders(ours: Work, peer: str, peers: Work) -> Mapping[str, Work]:
    return {"floor": program("-c", "pass"), peer: peers, OURS: ours}


def shown(name: str, *options: object) -> Row:
    """Return the row of a command that shows what is stored."""
    is_device = name.split(maxsplit=1)[0] == "askew"
    ours = program(
        "-m", "askew_client" if is_device else "askew_server", *name.split()[1:], *options
    )
    peer = program("-m", "pip", "--version")
    return Row(
        name, lambda: contenders(ours, "pip --version", peer), DEVICE if is_device else SERVER
    )


def asked(name: str, data: Path, address: str) -> Row:
    """Return the row of a question, after one that fetched what is held and drew a signal."""
    words = (*name.split()[1:], "--data", data, "--server", address)
    ours = program("-m", "askew_client", *words)
    ours()
    libraries = "import asyncio, numpy, grpc.aio, google.protobuf.message"
    peer = program("-c", libraries)
    return Row(name, lambda: contenders(ours, "numpy and gRPC", peer), ASKED)


def store(folder: Path) -> tuple[Path, Path]:
    """Make a device's folder with a rating and a place, and a ledger with a charge."""
    from askew.dp.composition import PrivacyFilter
    from askew.dp.privacy import ADD_OR_REMOVE_ONE, PureDP
    from askew_server.ledger import ChargeRequest, Ledger

    ratings, data, path = folder / "ratings.csv", folder / "data", folder / "ledger"
    ratings.write_text("title,rating\nAlien (1979),5\n")
    program("-m", "askew_client", "profile", "import", ratings, "--data", data)()
    place = ("place", "add", "home", "--region", "DE", "--data", data)
    program("-m", "askew_client", *place, stdin=PLACE)()
    with Ledger(path, path.with_name("ledger.mark")) as book:
        cap, loss = PrivacyFilter(epsilon=Fraction(9)), PureDP(Fraction(1, 999), ADD_OR_REMOVE_ONE)
        book.open_dataset("films", "1", cap, "one person", ADD_OR_REMOVE_ONE)
        request = ChargeRequest(
            dataset="films", version="1", key="key", digest=bytes(32), loss=loss
        )
        book.charge(request)
    return data, path


def main(folder: Path) -> None:
    data, ledger = store(folder)
    device, operator = ("--data", data), ("--ledger", ledger)
    rows = [
        shown(f"askew {name}", *device)
        for name in ("budget", "profile list", "profile export", "place list")
    ]
    rows += [shown(f"askew-server {name}", *operator) for name in ("ledger show", "releases list")]
    rows += [
        shown(f"{name} --help")
        for name in (
            "askew",
            "askew ask",
            "askew-server",
            "askew-server serve",
            "askew-server train",
        )
    ]
    with demo_server("films") as address:
        questions = [asked(n, data, address) for n in ("askew ask", "askew ask --mode ask")]
        finish([run("Start-up, CPU of a whole command", [*rows, *questions])])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(Path(scratch))

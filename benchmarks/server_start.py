"""How long a server takes to start, and what it holds in memory.

    python -m benchmarks.server_start [ITEMS ...]

The models are SIMULATED: made-up titles and 32 factors. Each is saved and then loaded by a process
of its own, up to the point where it could answer its first call: CPU time, with one thread of BLAS,
and the largest resident memory beyond that of an interpreter with numpy. Exits with 1 where a goal
is missed.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

USUAL = ("1e5", "1e6")
DIMENSION, PEOPLE = 4, 4_000
GOALS = {100_000: (3.0, 400), 1_000_000: (10.0, 400)}  # seconds of CPU, MB; by the items
BARE = "bare"


# -- what is loaded --------------------------------------------------------------------------------


def save_model(directory: Path, count: int) -> None:
    """A model of so many items, as training would save it."""
    from benchmarks.serving.models import made_tastes

    from askew_server.taste.model import artifact
    from askew_server.taste.model.item_model import ItemModel
    from askew_server.taste.training.options import TrainingOptions

    tastes = made_tastes(count, DIMENSION)
    counts = {"people": PEOPLE, "ratings": 1_000_000, "likes": 500_000}
    options, keys = TrainingOptions(dimension=DIMENSION), tuple(map(str, range(count)))
    artifact.save(ItemModel(tastes.card, tastes.catalog, keys, options, counts), directory)


# -- the process that is measured ------------------------------------------------------------------


def start(directory: str) -> None:
    """Loads a model as `askew-server serve` does, and says what it took."""
    import numpy as np

    assert np.__version__
    if directory != BARE:
        from askew_server.retrieval.served import serving_of
        from askew_server.retrieval.snapshot import SnapshotHolder
        from askew_server.serving.retrieval import RetrievalService
        from askew_server.taste.model import artifact

        serving = serving_of(artifact.load(Path(directory)), Path(directory))
        service = RetrievalService(SnapshotHolder(serving.snapshot))
        assert service.methods
    used = resource.getrusage(resource.RUSAGE_SELF)
    status = Path("/proc/self/status").read_text("ascii")  # ru_maxrss would be the parent's too
    [peak] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    [now] = [line for line in status.splitlines() if line.startswith("VmRSS")]
    found = {"cpu": used.ru_utime + used.ru_stime}
    found |= {name: int(line.split()[1]) / 1024 for name, line in (("peak", peak), ("now", now))}
    print(json.dumps(found))


def measured(directory: str) -> dict[str, float]:
    """What a fresh process says of its start."""
    command = [sys.executable, "-m", "benchmarks.server_start", "--start", directory]
    one = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    ran = subprocess.run(command, check=True, capture_output=True, text=True, env=one)
    told: dict[str, float] = json.loads(ran.stdout)
    return told


def main(wanted: list[str]) -> int:
    bare, missed = measured(BARE), 0
    print(f"an interpreter with numpy: {bare['peak']:.0f} MB")
    print(f"{'items':>9} {'CPU s':>7} {'peak MB':>8} {'then MB':>8}  goal")
    for each in wanted or USUAL:
        count = int(float(each))
        with tempfile.TemporaryDirectory() as room:
            directory, began = Path(room) / "model", time.monotonic()
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "benchmarks.server_start",
                    "--save",
                    str(directory),
                    str(count),
                ],
                check=True,
            )
            made = time.monotonic() - began
            found = measured(str(directory))
        peak, now = (found[name] - bare["peak"] for name in ("peak", "now"))
        seconds, most = next((goal for size, goal in GOALS.items() if count <= size), (1e9, 1e9))
        reached = found["cpu"] <= seconds and peak <= most
        missed += not reached
        verdict = "" if reached else "  MISSED"
        row = f"{count:>9,} {found['cpu']:>7.2f} {peak:>8.0f} {now:>8.0f}"
        print(f"{row}  {seconds:g} s, {most:g} MB{verdict} (made in {made:.0f} s)", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--start"]:
        start(sys.argv[2])
    elif sys.argv[1:2] == ["--save"]:
        save_model(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.exit(main(sys.argv[1:]))

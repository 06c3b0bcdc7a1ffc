"""How long a server takes to start, and what it holds in memory.

    .venv/bin/python benchmarks/server_start.py [ITEMS ...]

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
from typing import Any

import numpy as np

USUAL = ("1e5", "1e6")
FACTORS, DIMENSION, PEOPLE = 32, 4, 4_000
GOALS = {100_000: (3.0, 400), 1_000_000: (10.0, 400)}  # seconds of CPU, MB; by the items
BARE = "bare"


# -- what is loaded --------------------------------------------------------------------------------


def save_model(directory: Path, count: int) -> None:
    """A model of so many items, as training would save it."""
    from askew.catalog.catalog import Catalog
    from askew.catalog.item import Item
    from askew.protocol.model_card import ModelCard
    from askew.spaces.item_codes import rounded, scales_of
    from askew_server.taste.model import artifact
    from askew_server.taste.model.item_model import ItemModel
    from askew_server.taste.model.shared_slate import default_size
    from askew_server.taste.training.options import TrainingOptions

    rng = np.random.default_rng(0)
    vectors = (rng.normal(size=(count, FACTORS)) / np.sqrt(count)).astype(np.float32)
    scales = scales_of(vectors)
    words = ["".join(rng.choice(list("aeiorntslmdc"), size)) for size in rng.integers(3, 9, 3_000)]
    picked, years = rng.integers(0, len(words), (count, 3)), rng.integers(1930, 2026, count)
    lists = [tuple(f"Kind {i}" for i in rng.choice(18, n, False)) for n in rng.integers(1, 4, 300)]
    items = tuple(
        Item(f"{words[a]} {words[b]} {words[c]}", int(year), lists[a % 300])
        for (a, b, c), year in zip(picked.tolist(), years, strict=True)
    )
    n_default = default_size(None, items, FACTORS)
    held = n_default if n_default < count else 0
    catalog = Catalog(
        items, rounded(vectors, scales), np.ones(count, "f4"), tuple(range(held, held + 64))
    )
    space = made_space(scales, catalog, rng)
    source = "SIMULATED items"
    card = ModelCard(space, catalog.version, count, 64, source, True, n_default, 1.0, True)
    keys = tuple(map(str, range(count)))
    counts = {"people": PEOPLE, "ratings": 1_000_000, "likes": 500_000}
    options = TrainingOptions(dimension=DIMENSION)
    artifact.save(ItemModel(card, catalog, keys, options, counts), directory)


def made_space(scales: Any, catalog: Any, rng: np.random.Generator) -> Any:

    from askew.spaces.encoder import KNOTS, Encoder
    from askew.spaces.vectors import FeatureSpace, RatingScale

    directions = np.linalg.qr(rng.normal(size=(FACTORS, DIMENSION)))[0].astype(np.float32)
    knots = np.tile(np.linspace(-0.02, 0.02, KNOTS), (DIMENSION, 1))
    encoder = Encoder(directions, catalog.vectors.mean(axis=0), knots, 0.005, 20, 1.5)
    return FeatureSpace(RatingScale(1, 5, 4), encoder, scales)


# -- the process that is measured ------------------------------------------------------------------


def start(directory: str) -> None:
    """Loads a model as `askew-server serve` does, and says what it took."""
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
    command = [sys.executable, __file__, "--start", directory]
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
                [sys.executable, __file__, "--save", str(directory), str(count)], check=True
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

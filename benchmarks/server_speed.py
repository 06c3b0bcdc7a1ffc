"""What an answer costs a running server, beside a bare grpc.aio echo of as many bytes.

    python -m benchmarks.server_speed [SCENE ...]     # of SCENES; all without

The production server over SIMULATED models, and grpc.aio as it comes, in processes of their own.
One process asks, 16 calls at once, each again as soon as it is answered. Short windows take turns
in random order. A figure is the median of ratios of windows of one round, with an interval of
90 %; the goal is missed where the whole interval lies beyond it, and then the exit status is 1.
`beyond` is what the server takes beside computing the answer, in echoes: 1 and what it takes more
than a bare grpc.aio server that computes the same answers.
"""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from functools import partial
from itertools import cycle
from statistics import median

from benchmarks.results import BUSY, Result, record
from benchmarks.serving.http2 import message
from benchmarks.serving.load import Load, Window, hosted, interval, offer, replies_to
from benchmarks.serving.models import EPSILON, TOWN, K, questions

from askew.dp.privacy import ANY_SPACE
from askew.noise.hexagonal import HexagonalLattice
from askew.protocol.cards import MetricCard
from askew.protocol.signal import Query, Signal
from askew.spaces.map import LEAST_COSINE, MapNoise
from askew.wire.places import metric_card_from_bytes, places_from_bytes
from askew.wire.tastes import card_from_bytes, slate_from_bytes

HOST = "benchmarks.serving.host"
RETRIEVE = "/askew.wire.v1.Retrieval/Retrieve"
CARD = "/askew.wire.v1.Retrieval/GetModelCard"
CALLERS, ROUNDS, SECONDS = 16, 9, 0.25
MOST_BEYOND = 1.25
Ask = tuple[str, int, Fraction, bool]  # its name, k, epsilon, and whether it has the goal
FILMS: tuple[Ask, ...] = (
    ("usual", K, EPSILON, True),
    ("k = 64, admitted as five", 64, EPSILON, False),
)
TOWNS: tuple[Ask, ...] = (
    ("k = 20", 20, TOWN, False),
    ("k = 8", 8, TOWN, True),
    ("k = 64, admitted as two", 64, TOWN, False),
)
# What `host` is told, and the ways to ask it.
SCENES: dict[str, tuple[str, tuple[Ask, ...]]] = {
    "417 films": ("films", FILMS),
    "10^6 places, codebook": ("places 1000000 codebook", TOWNS),
}


def main() -> None:
    names = sys.argv[1:] or list(SCENES)
    if unknown := [name for name in names if name not in SCENES]:
        raise SystemExit(f"no scene {unknown[0]}: {'; '.join(SCENES)}")
    gc.disable()
    missed = [miss for name in names for miss in measured(name, *SCENES[name])]
    for miss in missed:
        print(f"MISSED: {miss}")
    sys.exit(bool(missed))


def measured(scene: str, model: str, asks: tuple[Ask, ...]) -> Iterator[str]:
    """Print and record the figures of a scene; yield the goals that it missed."""
    loads: dict[tuple[str, str], Load] = {}
    with ExitStack() as stack:
        ours = stack.enter_context(hosted(HOST, *model.split()))
        bare = stack.enter_context(hosted(HOST, "bare", *model.split()))
        [data] = replies_to(ours, CARD, [b""])
        card = metric_card_from_bytes(data) if "places" in model else card_from_bytes(data)
        asked = {name: questions(card, k, epsilon) for name, k, epsilon, _ in asks}
        sizes = {}
        for name, k, _, _ in asks:
            replies = replies_to(ours, RETRIEVE, asked[name])
            assert replies == replies_to(bare, RETRIEVE, asked[name])
            for reply in replies:  # exactly k whole items, as a device would look
                if isinstance(card, MetricCard):
                    noise = MapNoise(HexagonalLattice(0, 8), LEAST_COSINE)  # of any question
                    signal = Signal(ANY_SPACE, noise, (0, 0))
                    number = card.collections[0].number
                    places_from_bytes(reply, card, Query(signal, k, number))
                else:
                    slate_from_bytes(reply, card, k)
            sizes[name] = sum(map(len, replies)) // len(replies)
        echo = stack.enter_context(hosted(HOST, "echo", *sorted({*sizes.values()})))
        for name, size in sizes.items():
            body = partial(next, cycle([message(question) for question in asked[name]]))
            loads["ours", name] = Load(ours, RETRIEVE, body, 20.0)
            loads["bare", name] = Load(bare, RETRIEVE, body, 20.0)
            loads["echo", name] = Load(echo, f"/Echo/{size}", body, 20.0)
        windows = {key: list[Window]() for key in loads}
        order = random.Random(7)
        for _ in range(ROUNDS + 1):  # the first is for connections, caches, threads
            for key in order.sample([*loads], len(loads)):
                windows[key].append(offer(loads[key], SECONDS, callers=CALLERS))
                if windows[key][-1].statuses.keys() != {0}:
                    raise SystemExit(f"{scene}: a call failed: {windows[key][-1].statuses}")
    print(f"\n{scene:28} {'calls/s':>9} {'CPU us':>8} {'bare':>8} {'echo':>8} {'beyond':>22}")
    for name, *_, has_goal in asks:
        taken = {who: windows[who, name][1:] for who in ("ours", "bare", "echo")}
        micro = {who: 1e6 * median(w.cpu_of_call for w in own) for who, own in taken.items()}
        beyond, low, high = interval(
            [
                1 + (a.cpu_of_call - b.cpu_of_call) / c.cpu_of_call
                for a, b, c in zip(*taken.values(), strict=True)
            ]
        )
        rate = median(w.in_time(0, 20.0) for w in taken["ours"])
        words = f"{beyond:.3f} [{low:.3f}, {high:.3f}]"
        print(f"  {name:26} {rate:9.0f} {micro['ours']:8.0f} {micro['bare']:8.0f} "
              f"{micro['echo']:8.0f} {words:>22}", flush=True)  # fmt: skip
        others = median(window.foreign for own in taken.values() for window in own)
        record(
            Result(
                scene,
                name,
                "us of CPU",
                micro["ours"],
                {"bare grpc.aio, same answers": micro["bare"]},
                ("bare grpc.aio echo", micro["echo"]),
                f"at most {MOST_BEYOND:g} echoes beyond computing" if has_goal else "",
                low <= MOST_BEYOND if has_goal else None,
                f"beyond computing {words} echoes"
                + (f"; busy: others took {others:.1f} cores" if others > BUSY else ""),
            )
        )
        if has_goal and low > MOST_BEYOND:
            yield f"{scene}: {name}: {words} echoes beyond computing"


if __name__ == "__main__":
    main()

"""What an answer costs a running server, beside a bare grpc.aio echo of as many bytes.

    python -m benchmarks.server_speed [SCENE ...]     # of SCENES, or `every`; some without

The production server over SIMULATED models, and grpc.aio as it comes, in processes of their own.
One process asks, 16 calls at once, each again as soon as it is answered, and checks every reply.
Short windows take turns in random order. A figure is the median of ratios of windows of one round,
with a bootstrap interval of 90 %; a goal is missed where the whole interval lies beyond it, and
then the exit status is 1. `beyond` is what the server takes beside computing the answer, in echoes:
1 and what it takes more than a bare grpc.aio server that computes the same answers.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version

import numpy as np
from benchmarks.results import BUSY, Result, record
from benchmarks.serving.host import CARD, RETRIEVE, Hosted
from benchmarks.serving.http2 import ClosedLoop, ask_once
from benchmarks.serving.models import EPSILON, OTHER_EPSILON, OTHER_K, TOWN, K, questions
from benchmarks.serving.windows import (
    HEADING,
    Contender,
    Goal,
    Windows,
    cpu,
    described,
    estimate,
    rate,
    ratio,
    rotations,
)

from askew.dp.privacy import ANY_SPACE
from askew.noise.hexagonal import HexagonalLattice
from askew.protocol.metric_card import MetricCard
from askew.protocol.signal import Query, Signal
from askew.spaces.map import LEAST_COSINE, MapNoise
from askew.wire.places import metric_card_from_bytes, places_from_bytes
from askew.wire.tastes import card_from_bytes, slate_from_bytes

WIDTH = 16  # calls at once
ROUNDS, SECONDS = 9, 0.25
BEYOND = Goal(most=1.25)


@dataclass(frozen=True)
class Ask:
    """A way to ask. beyond: a goal of CPU beside computing, in echoes."""

    name: str
    k: int = K
    epsilon: Fraction = EPSILON
    beyond: Goal | None = None


OTHERS = (
    Ask("another k", k=OTHER_K),
    Ask("another epsilon", epsilon=OTHER_EPSILON),
    Ask("k = 64, admitted as five", k=64),
)
QUICK = Ask("usual", beyond=BEYOND)
TOWNS = (
    Ask("k = 20", k=20, epsilon=TOWN),
    Ask("k = 8", k=8, epsilon=TOWN, beyond=BEYOND),
    Ask("k = 64, admitted as two", k=64, epsilon=TOWN),
)
# What `host` is told, and the ways to ask it.
SCENES: dict[str, tuple[str, Sequence[Ask]]] = {
    "417 films": ("films", (QUICK, *OTHERS)),
    "10^6 places, codebook": ("places 1000000 codebook", TOWNS),
    "10^5 items": ("tastes 100000", (Ask("usual"), *OTHERS)),
    "10^6 items": ("tastes 1000000", (Ask("usual"), Ask("another k", k=OTHER_K))),
    "10^6 places, posterior": ("places 1000000 posterior", TOWNS[:1]),
}
USUAL = 2


def main() -> None:
    names = sys.argv[1:] or list(SCENES)[:USUAL]
    names = list(SCENES) if names == ["every"] else names
    if unknown := [each for each in names if each not in SCENES]:
        raise SystemExit(f"no scene {unknown[0]}: {'; '.join(SCENES)}; or every")
    print(f"grpcio {version('grpcio')}, protobuf {version('protobuf')}, {WIDTH} calls at once")
    gc.disable()
    missed = [miss for name in names for miss in measured(name, *SCENES[name])]
    for each in missed:
        print(f"MISSED: {each}")
    sys.exit(bool(missed))


def measured(scene: str, model: str, asks: Sequence[Ask]) -> Iterator[str]:
    """Print the figures of a scene; yield the goals that it missed."""
    with ExitStack() as stack:
        host = stack.enter_context(Hosted(*model.split()))
        [data] = ask_once(host.port, CARD, [b""])
        is_map = model.startswith("places")
        card = metric_card_from_bytes(data) if is_map else card_from_bytes(data)
        calls, sizes = {}, {}
        for ask in asks:
            asked = questions(card, ask.k, ask.epsilon)
            replies = ask_once(host.port, RETRIEVE, asked)
            for reply in replies:  # exactly k whole items, as a device would look
                if isinstance(card, MetricCard):
                    noise = MapNoise(HexagonalLattice(0, 8), LEAST_COSINE)  # of any question
                    signal = Signal(ANY_SPACE, noise, (0, 0))
                    number = card.collections[0].number
                    places_from_bytes(reply, card, Query(signal, ask.k, number))
                else:
                    slate_from_bytes(reply, card, ask.k)
            calls[ask.name] = list(zip(asked, replies, strict=True))
            sizes[ask.name] = sum(map(len, replies)) // len(replies)
        echo = stack.enter_context(Hosted("bare", *sorted(set(sizes.values()))))
        plain = stack.enter_context(Hosted("bare", *model.split()))
        contenders = []
        for name, pairs in calls.items():
            size = sizes[name]
            stored = [(question, bytes(size)) for question, _ in pairs]
            for words, server, path, load in (
                ("", host, RETRIEVE, pairs),
                ("bare answers to ", plain, RETRIEVE, pairs),
                ("echo of ", echo, f"/Echo/{size}", stored),
            ):
                loop = ClosedLoop(server.port, path, WIDTH, load)
                stack.callback(loop.close)
                contenders.append(Contender(f"{words}{name}", server.pid, loop.run))
        windows = rotations(contenders, ROUNDS, SECONDS)
    print(f"\n{scene}\n{HEADING}")
    for name, each in windows.items():
        print(described(name, each))
    for ask in asks:
        for miss in _told(scene, ask, windows):
            yield f"{scene}: {miss}"


def _told(scene: str, ask: Ask, windows: Windows) -> Iterator[str]:
    ours, plain, echo = (
        windows[f"{words}{ask.name}"] for words in ("", "bare answers to ", "echo of ")
    )
    rounds = zip(ours, plain, echo, strict=True)
    beyond = estimate([1 + (a.cpu - b.cpu) / c.cpu for a, b, c in rounds])
    figures = [
        ("calls a second / those of bare answers", ratio(ours, plain, rate), None),
        ("CPU / echo's", ratio(ours, echo, cpu), None),
        ("CPU beyond computing / echo's", beyond, ask.beyond),
    ]
    for name, figure, goal in figures:
        has_missed = goal is not None and goal.missed(figure)
        words = "" if goal is None else f"   goal {goal}{'   MISSED' if has_missed else ''}"
        print(f"  {f'{ask.name}: {name}':48s}{figure}{words}", flush=True)
        if has_missed:
            yield f"{ask.name}: {name}"
    others = float(np.median([each.foreign for some in windows.values() for each in some]))
    record(
        Result(
            scene,
            ask.name,
            "us of CPU",
            float(np.median([1e6 * each.cpu for each in ours])),
            {"bare grpc.aio, same answers": float(np.median([1e6 * each.cpu for each in plain]))},
            ("bare grpc.aio echo", float(np.median([1e6 * each.cpu for each in echo]))),
            "" if ask.beyond is None else f"{ask.beyond} echoes beyond computing",
            None if ask.beyond is None else not ask.beyond.missed(beyond),
            f"beyond computing {str(beyond).strip()} echoes"
            + (f"; busy: others took {others:.1f} cores" if others > BUSY else ""),
        )
    )


if __name__ == "__main__":
    main()

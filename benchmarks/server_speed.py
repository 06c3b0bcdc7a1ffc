"""What an answer costs a running server, beside a bare grpc.aio echo of as many bytes.

    python -m benchmarks.server_speed [SCENE ...]     # of SCENES, or `every`; some without

The production server over SIMULATED models, and grpc.aio as it comes, each in a process of its own.
One process asks, 16 calls at once, each again as soon as it is answered, and checks every reply.
Short windows take turns in random order. A figure is the median of ratios of windows of one round,
with a bootstrap interval of 90 %; a goal is missed where the whole interval lies beyond it, and
then the exit status is 1. `beyond` is what the server takes beside computing the answer, which is
measured in its process before it serves, in echoes.
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

from askew.protocol.metric_card import MetricCard
from askew.wire.places import metric_card_from_bytes, places_from_bytes
from askew.wire.tastes import card_from_bytes, slate_from_bytes

WIDTH = 16  # calls at once
ROUNDS, SECONDS = 9, 0.25
BEYOND, QUARTER = Goal(most=1.25), Goal(least=0.25)


@dataclass(frozen=True)
class Ask:
    """A way to ask. rate: a goal beside the echo; beyond: of CPU beside computing, in echoes."""

    name: str
    k: int = K
    epsilon: Fraction = EPSILON
    rate: Goal | None = None
    beyond: Goal | None = None


OTHERS = (
    Ask("another k", k=OTHER_K, rate=QUARTER),
    Ask("another epsilon", epsilon=OTHER_EPSILON, rate=QUARTER),
    Ask("k = 64, admitted as five", k=64),
)
QUICK = Ask("usual", rate=QUARTER, beyond=BEYOND)
TOWNS = (
    Ask("k = 20", k=20, epsilon=TOWN, rate=QUARTER),
    Ask("k = 8", k=8, epsilon=TOWN, beyond=BEYOND),
    Ask("k = 64, admitted as two", k=64, epsilon=TOWN),
)
# What `host` is told, and the ways to ask it.
SCENES: dict[str, tuple[str, Sequence[Ask]]] = {
    "417 films": ("films", (QUICK, *OTHERS)),
    "10^6 places, codebook": ("places 1000000 codebook", TOWNS),
    "10^5 items": ("tastes 100000", (Ask("usual", rate=QUARTER), *OTHERS)),
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


def measured(scene: str, words: str, asks: Sequence[Ask]) -> Iterator[str]:
    """Print the figures of a scene; yield the goals that it missed."""
    with ExitStack() as stack:
        host = stack.enter_context(Hosted(*words.split()))
        [data] = ask_once(host.port, CARD, [b""])
        is_map = words.startswith("places")
        card = metric_card_from_bytes(data) if is_map else card_from_bytes(data)
        calls, sizes = {}, {}
        for ask in asks:
            asked = questions(card, ask.k, ask.epsilon)
            replies = ask_once(host.port, RETRIEVE, asked)
            for reply in replies:  # exactly k whole items, as a device would look
                if isinstance(card, MetricCard):
                    places_from_bytes(reply, card, ask.k, card.collections[0].name)
                else:
                    slate_from_bytes(reply, card, ask.k)
            calls[ask.name] = list(zip(asked, replies, strict=True))
            sizes[ask.name] = sum(map(len, replies)) // len(replies)
        bare = stack.enter_context(Hosted("bare", *sorted(set(sizes.values()))))
        contenders = []
        for name, pairs in calls.items():
            size = sizes[name]
            stored = [(question, bytes(size)) for question, _ in pairs]
            ours = ClosedLoop(host.port, RETRIEVE, WIDTH, pairs)
            echo = ClosedLoop(bare.port, f"/Echo/{size}", WIDTH, stored)
            stack.callback(ours.close)
            stack.callback(echo.close)
            contenders.append(Contender(name, host.pid, ours.run))
            contenders.append(Contender(f"echo of {name}", bare.pid, echo.run))
        windows = rotations(contenders, ROUNDS, SECONDS)
    print(f"\n{scene}\n{HEADING}")
    for name, each in windows.items():
        print(described(name, each))
    for ask in asks:
        for miss in _told(scene, ask, windows, host.own.get(str(ask.k))):
            yield f"{scene}: {miss}"


def _told(scene: str, ask: Ask, windows: Windows, own: float | None) -> Iterator[str]:
    ours, echo = windows[ask.name], windows[f"echo of {ask.name}"]
    figures = [
        ("calls a second / echo's", ratio(ours, echo, rate), ask.rate),
        ("CPU / echo's", ratio(ours, echo, cpu), None),
    ]
    if own is not None:
        beside = [(a.cpu - own / 1e6) / b.cpu for a, b in zip(ours, echo, strict=True)]
        figures.append(("CPU beyond computing / echo's", estimate(beside), ask.beyond))
    for name, figure, goal in figures:
        has_missed = goal is not None and goal.missed(figure)
        words = "" if goal is None else f"   goal {goal}{'   MISSED' if has_missed else ''}"
        print(f"  {f'{ask.name}: {name}':48s}{figure}{words}", flush=True)
        if has_missed:
            yield f"{ask.name}: {name}"
    others = float(np.median([each.foreign for some in windows.values() for each in some]))
    figure = figures[-1][1]
    is_beyond = own is not None and ask.beyond is not None
    record(
        Result(
            scene,
            ask.name,
            "us of CPU",
            float(np.median([1e6 * each.cpu for each in ours])),
            {} if own is None else {"computing alone": own},
            ("bare grpc.aio echo", float(np.median([1e6 * each.cpu for each in echo]))),
            f"{ask.beyond} echoes beyond computing" if is_beyond else "",
            not ask.beyond.missed(figure) if is_beyond and ask.beyond is not None else None,
            f"beyond computing {str(figure).strip()} echoes" * is_beyond
            + (f"; busy: others took {others:.1f} cores" if others > BUSY else ""),
        )
    )


if __name__ == "__main__":
    main()

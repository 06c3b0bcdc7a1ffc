"""What is measured together: one model, the ways to ask it, and an echo beside each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction

from benchmarks.serving.figures import Goal
from benchmarks.serving.host import CARD, RETRIEVE, Hosted
from benchmarks.serving.http2 import ClosedLoop, ask_once
from benchmarks.serving.models import EPSILON, K, questions
from benchmarks.serving.windows import Contender

from askew.protocol.metric_card import MetricCard
from askew.protocol.model_card import ModelCard
from askew.wire.places import metric_card_from_bytes, places_from_bytes
from askew.wire.tastes import card_from_bytes, slate_from_bytes

WIDTH = 16  # calls at once


@dataclass(frozen=True)
class Ask:
    """A way to ask. rate, cpu: goals, beside the echo. kernel: a goal in milliseconds of CPU beyond
    the echo's. beside: another way of this scene, whose CPU is compared.
    """

    name: str
    k: int = K
    epsilon: Fraction = EPSILON
    bucket: bool = False
    rate: Goal | None = None
    cpu: Goal | None = None
    kernel: Goal | None = None
    beside: str = ""


@dataclass(frozen=True)
class Scene:
    """A model, as `host` makes it, and the ways to ask it."""

    name: str
    words: tuple[object, ...]
    asks: Sequence[Ask]


@contextmanager
def contenders(scene: Scene) -> Iterator[Mapping[str, tuple[Contender, Contender]]]:
    """For each way to ask, the real server and an echo of as many bytes, while this is open."""
    with ExitStack() as stack:
        host = stack.enter_context(Hosted(*scene.words))
        card = _card(host.port, maps=scene.words[0] == "places")
        loads, sizes = {}, {}
        for ask in scene.asks:
            asked = questions(card, ask.k, ask.epsilon, bucket=ask.bucket)
            replies = ask_once(host.port, RETRIEVE, asked)
            _check(replies, card, ask.k)
            sizes[ask.name] = sum(map(len, replies)) // len(replies)
            loads[ask.name] = list(zip(asked, replies, strict=True))
        echo = stack.enter_context(Hosted("echo", *sorted(set(sizes.values()))))
        found = {}
        for name, calls in loads.items():
            size = sizes[name]
            stored = [(question, bytes(size)) for question, _ in calls]
            real = ClosedLoop(host.port, RETRIEVE, WIDTH, calls)
            idle = ClosedLoop(echo.port, f"/Echo/{size}", WIDTH, stored)
            stack.callback(real.close)
            stack.callback(idle.close)
            found[name] = (
                Contender(name, host.pid, real.run),
                Contender(f"echo of {name}", echo.pid, idle.run),
            )
        yield found


def _card(port: int, *, maps: bool) -> ModelCard | MetricCard:
    [data] = ask_once(port, CARD, [b""])
    return metric_card_from_bytes(data) if maps else card_from_bytes(data)


def _check(replies: Sequence[bytes], card: ModelCard | MetricCard, k: int) -> None:
    """As a device would: exactly k whole items."""
    for reply in replies:
        if isinstance(card, MetricCard):
            places_from_bytes(reply, card, k, card.collections[0].name)
        else:
            slate_from_bytes(reply, card, k)

"""What an answer costs a running server, beside an echo of as many bytes.

    python -m benchmarks.server_speed [ROW ...]     # of SCENES, or `every`; some without

The production server over SIMULATED models; an echo behind the same front; and a bare one, grpc.aio
as it comes; each in a process of its own. `tls` opens a connection with TLS for each question. One
process asks, 16 calls at once, each again as soon as it is answered, and checks every reply. Short
windows take turns in random order. A figure is the median of ratios of windows of one round, with a
bootstrap interval of 90 %; a goal is missed where the whole interval lies beyond it, and then the
exit status is 1. The ratio of CPU hardly depends on what else runs on the machine, the one of calls
a second does.
"""

from __future__ import annotations

import gc
import ssl
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import partial
from importlib.metadata import version
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from benchmarks.results import BUSY, Result, record
from benchmarks.serving.host import CARD, RETRIEVE, Hosted
from benchmarks.serving.http2 import ClosedLoop, Connection, Tally, WrongReply, ask_once
from benchmarks.serving.models import EPSILON, OTHER_EPSILON, OTHER_K, TOWN, K, questions
from benchmarks.serving.windows import (
    HEADING,
    Contender,
    Estimate,
    Goal,
    Windows,
    cpu,
    described,
    difference,
    rate,
    ratio,
    rotations,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from askew.dp.privacy import ANY_SPACE
from askew.noise.hexagonal import HexagonalLattice
from askew.protocol.metric_card import MetricCard
from askew.protocol.model_card import ModelCard
from askew.protocol.signal import Query, Signal
from askew.spaces.map import LEAST_COSINE, MapNoise
from askew.wire.places import metric_card_from_bytes, places_from_bytes
from askew.wire.tastes import card_from_bytes, slate_from_bytes

WIDTH = 16  # calls at once
TLS, USUAL = "tls", ("films", "places", "tls")


@dataclass(frozen=True)
class Ask:
    """A way to ask. rate: a goal beside the echo; bare: of CPU beside the bare one. kernel: a goal
    in milliseconds of CPU beyond the echo's. beside: another way of this scene, whose CPU is
    compared.
    """

    name: str
    k: int = K
    epsilon: Fraction = EPSILON
    rate: Goal | None = None
    bare: Goal | None = None
    kernel: Goal | None = None
    beside: str = ""


@dataclass(frozen=True)
class Scene:
    """A model, as `host` makes it, and the ways to ask it."""

    name: str
    words: tuple[object, ...]
    asks: Sequence[Ask]


@contextmanager
def contenders(scene: Scene) -> Iterator[Mapping[str, tuple[Contender, ...]]]:
    """For each way to ask, the real server, an echo of as many bytes, and a bare one."""
    with ExitStack() as stack:
        host = stack.enter_context(Hosted(*scene.words))
        card = _card(host.port, maps=scene.words[0] == "places")
        loads, sizes = {}, {}
        for ask in scene.asks:
            asked = questions(card, ask.k, ask.epsilon)
            replies = ask_once(host.port, RETRIEVE, asked)
            _check(replies, card, ask.k)
            sizes[ask.name] = sum(map(len, replies)) // len(replies)
            loads[ask.name] = list(zip(asked, replies, strict=True))
        echo = stack.enter_context(Hosted("echo", *sorted(set(sizes.values()))))
        bare = stack.enter_context(Hosted("bare", *sorted(set(sizes.values()))))
        found = {}
        for name, calls in loads.items():
            size = sizes[name]
            stored = [(question, bytes(size)) for question, _ in calls]
            real = ClosedLoop(host.port, RETRIEVE, WIDTH, calls)
            idle = ClosedLoop(echo.port, f"/Echo/{size}", WIDTH, stored)
            plain = ClosedLoop(bare.port, f"/Echo/{size}", WIDTH, stored)
            stack.callback(real.close)
            stack.callback(idle.close)
            stack.callback(plain.close)
            found[name] = (
                Contender(name, host.pid, real.run),
                Contender(f"echo of {name}", echo.pid, idle.run),
                Contender(f"bare echo of {name}", bare.pid, plain.run),
            )
        yield found


def _card(port: int, *, maps: bool) -> ModelCard | MetricCard:
    [data] = ask_once(port, CARD, [b""])
    return metric_card_from_bytes(data) if maps else card_from_bytes(data)


def _check(replies: Sequence[bytes], card: ModelCard | MetricCard, k: int) -> None:
    """As a device would: exactly k whole items."""
    for reply in replies:
        if isinstance(card, MetricCard):
            noise = MapNoise(HexagonalLattice(0, 8), LEAST_COSINE)  # of any question
            query = Query(Signal(ANY_SPACE, noise, (0, 0)), k, card.collections[0].number)
            places_from_bytes(reply, card, query)
        else:
            slate_from_bytes(reply, card, k)


ROUNDS, SECONDS = 9, 0.25
QUARTER = Goal(least=0.25)
OTHERS = (
    Ask("another k", k=OTHER_K, rate=QUARTER),
    Ask("another epsilon", epsilon=OTHER_EPSILON, rate=QUARTER),
    Ask("k = 64, admitted as five", k=64, beside="another k"),
)
QUICK = Ask("usual", rate=QUARTER)
SCENES = {
    "films": Scene("417 films", ("films",), (QUICK, *OTHERS)),
    "1e5": Scene("10^5 items", ("tastes", 10**5), (QUICK, *OTHERS)),
    "1e5-4": Scene(
        "10^5 items, d = 4",
        ("tastes", 10**5, 4),
        (QUICK, Ask("another k", k=OTHER_K, rate=QUARTER)),
    ),
    "1e6": Scene(
        "10^6 items",
        ("tastes", 10**6),
        (QUICK, Ask("another k", k=OTHER_K)),
    ),
    "places": Scene(
        "10^6 places, codebook",
        ("places", 10**6, "codebook"),
        (
            Ask("k = 20", k=20, epsilon=TOWN, rate=QUARTER),
            Ask("k = 8", k=8, epsilon=TOWN),
            Ask("k = 64, admitted as two", k=64, epsilon=TOWN, beside="k = 8"),
        ),
    ),
    "places-posterior": Scene(
        "10^6 places, posterior",
        ("places", 10**6, "posterior"),
        (Ask("k = 20", k=20, epsilon=TOWN, kernel=Goal(most=5)),),
    ),
}


def main() -> None:
    names = sys.argv[1:] or list(USUAL)
    names = [*SCENES, TLS] if names == ["every"] else names
    if unknown := [each for each in names if each not in {*SCENES, TLS}]:
        raise SystemExit(f"no row {unknown[0]}: {', '.join([*SCENES, TLS])}, every")
    print(
        f"grpcio {version('grpcio')}, protobuf {version('protobuf')}, 16 calls at once, SIMULATED"
    )
    gc.disable()
    missed = [miss for name in names if name != TLS for miss in measured(SCENES[name])]
    if TLS in names:
        by_tls()
    for each in missed:
        print(f"MISSED: {each}")
    sys.exit(bool(missed))


def measured(scene: Scene) -> list[str]:
    """Prints the figures of a scene; which goals it missed."""
    begun = time.perf_counter()
    with contenders(scene) as asked:
        print(f"\n{scene.name} (served after {time.perf_counter() - begun:.1f} s)\n{HEADING}")
        every: list[Contender] = [each for both in asked.values() for each in both]
        windows = rotations(every, ROUNDS, SECONDS)
    for name, each in windows.items():
        print(described(name, each))
    for ask in scene.asks:
        _record(scene.name, ask, windows)
    missed = []
    for ask in scene.asks:
        for name, found, goal in figures(ask, windows):
            miss = goal is not None and goal.missed(found)
            missed += [f"{scene.name}: {name}"] if miss else []
            words = "" if goal is None else f"   goal {goal}{'   MISSED' if miss else ''}"
            print(f"  {name:48s}{found}{words}", flush=True)
    return missed


def _record(title: str, ask: Ask, windows: Windows) -> None:
    """For the report: microseconds of CPU, and of the bare echo."""
    names = (ask.name, f"echo of {ask.name}", f"bare echo of {ask.name}")
    ours, echo, bare = (float(np.median([1e6 * w.cpu for w in windows[name]])) for name in names)
    found = ratio(windows[ask.name], windows[names[2]], cpu)
    record(
        Result(
            title,
            ask.name,
            "us of CPU",
            ours,
            {"echo behind our front": echo},
            ("bare grpc.aio echo", bare),
            "" if ask.bare is None else f"{ask.bare} bare grpc.aio echo",
            None if ask.bare is None else not ask.bare.missed(found),
            f"ratio of windows {str(found).strip()}" + busy(windows),
        )
    )


def busy(windows: Windows) -> str:
    """Says whether others took the cores meanwhile."""
    others = float(np.median([each.foreign for some in windows.values() for each in some]))
    return f"; busy: others took {others:.1f} cores" if others > BUSY else ""


def by_tls() -> None:
    """A connection for each question, as devices ask: a handshake, the question, its answer."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        certificate(Path(folder))
        with Hosted(*SCENES["films"].words) as host:
            [card] = ask_once(host.port, CARD, [b""])
            asked = questions(card_from_bytes(card), K)
            replies = ask_once(host.port, RETRIEVE, asked)
        size, word = sum(map(len, replies)) // len(replies), f"TLS={folder}"
        context = ssl.create_default_context(cafile=f"{folder}/certificate.pem")
        context.set_alpn_protocols(["h2"])
        real = stack.enter_context(Hosted(word, *SCENES["films"].words))
        bare = stack.enter_context(Hosted(word, "bare", size))
        loads = {
            "a connection a question": (real, RETRIEVE, list(zip(asked, replies, strict=True))),
            "bare": (bare, f"/Echo/{size}", [(each, bytes(size)) for each in asked]),
        }
        contenders = [
            Contender(name, server.pid, partial(one_by_one, server.port, path, calls, context))
            for name, (server, path, calls) in loads.items()
        ]
        windows = rotations(contenders, ROUNDS, SECONDS)
    print(f"\nTLS, one connection a question\n{HEADING}")
    for name, each in windows.items():
        print(described(name, each))
    ours, floor = (float(np.median([1e6 * w.cpu for w in each])) for each in windows.values())
    record(
        Result(
            "TLS, one connection a question",
            "usual",
            "us of CPU",
            ours,
            floor=("bare grpc.aio echo by TLS", floor),
            note="the handshake included" + busy(windows),
        )
    )


def one_by_one(
    port: int, path: str, calls: Sequence[tuple[bytes, bytes]], tls: ssl.SSLContext, seconds: float
) -> Tally:
    """Questions for so long, each on a connection of its own, one after the other."""
    tally, start, turn = Tally(), time.perf_counter(), cycle(calls)
    while time.perf_counter() - start < seconds:
        question, expected = next(turn)
        began = time.perf_counter()
        connection = Connection(port, path, tls)
        connection.ask(question)
        while not connection.receive():
            pass
        if connection.reply[5:] != expected:
            raise WrongReply("a reply has other bytes than the same question got before")
        connection.close()
        tally.latencies.append(time.perf_counter() - began)
    tally.seconds = time.perf_counter() - start
    return tally


def certificate(folder: Path) -> None:
    """One of localhost for a day, signed by itself, as two files."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "key.pem").touch(0o600)
    (folder / "key.pem").write_bytes(pem)
    (folder / "certificate.pem").write_bytes(made.public_bytes(Encoding.PEM))


def figures(ask: Ask, windows: Windows) -> Iterator[tuple[str, Estimate, Goal | None]]:
    """The ratios of one way to ask, by name, with their goals."""
    real, echo = windows[ask.name], windows[f"echo of {ask.name}"]
    yield f"{ask.name}: calls a second / echo's", ratio(real, echo, rate), ask.rate
    yield f"{ask.name}: CPU / echo's", ratio(real, echo, cpu), None
    bare = windows[f"bare echo of {ask.name}"]
    yield f"{ask.name}: CPU / bare grpc.aio echo's", ratio(real, bare, cpu), ask.bare
    if ask.kernel is not None:
        beyond = difference(real, echo, lambda window: 1e3 * window.cpu)
        yield f"{ask.name}: ms of CPU beyond echo's", beyond, ask.kernel
    if ask.beside:
        shorter = ratio(real, windows[ask.beside], cpu)
        yield f"{ask.name}: CPU / that of {ask.beside}", shorter, None


if __name__ == "__main__":
    main()

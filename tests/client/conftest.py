"""A small world: twelve films whose vectors lie on a lattice of quarters, so that every score is
exact.
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
from hurried import hurry
from small_world import made_card, made_catalog, made_encoder, made_space

from askew.catalog.catalog_file import FIRST, HEAD_BYTES
from askew.dp.privacy import SignalCharge
from askew.noise.randomness import RandomBits, ReplayBits
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query, Signal
from askew.spaces.vectors import FeatureSpace
from askew.wire.catalog_file import catalog_from_body, catalog_to_bytes
from askew.wire.queries import query_from_bytes, query_to_bytes
from askew.wire.tastes import slate_from_bytes, slate_to_bytes
from askew_client.catalog.cache import CachedCatalog
from askew_client.cli import main as cli
from askew_client.device.model import Exchange, Model
from askew_client.settings.settings import ClientSettings
from askew_client.signals.store import SignalStore
from askew_client.views.cost import Cost, Leaves
from askew_server.retrieval.snapshot import Retriever

VECTORS: list[tuple[float, ...]] = [
    (-2.0, 0.0),
    (-1.5, 0.5),
    (-1.0, -1.0),
    (-0.5, 0.25),
    (0.0, 0.0),
    (0.0, 1.0),
    (0.25, -0.5),
    (0.5, 0.5),
    (1.0, -1.0),
    (1.0, 1.0),
    (1.5, -0.25),
    (1.75, 1.75),
]
SHARED_SLATE = (4, 9, 2, 7, 0, 10)
MAX_SLATE_SIZE = 6
K4 = ClientSettings(
    mode="ask",
    epsilon_per_rating=Fraction(2),
    k=4,
    rating_lifetime_cap=Fraction(24),
    rating_monthly_cap=Fraction(8),
    max_ratings_apart=32.0,
)


class Pair:
    """Both roles with a fake network in between: exchange, convert, retrieval, no socket."""

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever
        self.requests: list[bytes] = []
        file = catalog_to_bytes(retriever.card, retriever.catalog)
        self.card, self.catalog = catalog_from_body(file[HEAD_BYTES:])

    def exchange(
        self, ratings: dict[int, float], settings: ClientSettings | None = None
    ) -> Exchange:
        model = Model.of(CachedCatalog(self.card, self.catalog, FIRST, 0))
        return Exchange(model, settings or K4, ratings)

    def retrieve(self, query: Query) -> Slate:
        """The server's answer; the request is kept as it crossed."""
        request = query_to_bytes(query)
        self.requests.append(request)
        understood = query_from_bytes(request, self._retriever.card)
        reply = slate_to_bytes(self._retriever.answer(understood), self.card)
        return slate_from_bytes(reply, self.card, query.k)


class Memory(SignalStore):
    """Signals in a dictionary, and everything that was asked of it."""

    def __init__(self) -> None:
        self.signals: dict[tuple[str, str], Signal] = {}
        self.charges: list[SignalCharge] = []
        self.calls: list[tuple[str, str, SignalCharge]] = []

    def remember(
        self,
        space_version: str,
        month: str,
        charge: SignalCharge,
        draw: Callable[[], Signal],
        *,
        handle: str = "",
        check: Callable[[Cost], None] | None = None,
    ) -> tuple[Signal, Cost]:
        self.calls.append((space_version, month, charge))
        key, spent, leaves = (space_version, month), self.spent, Leaves.KEPT
        if key not in self.signals:
            leaves = Leaves.FRESH
            self.signals[key] = draw()
            self.charges.append(charge)
        cost = Cost(leaves, charge, month=month, spent=spent, cap=Fraction(10_000))
        return self.signals[key], cost

    @property
    def spent(self) -> Fraction:
        return sum((charge.epsilon_per_rating for charge in self.charges), Fraction(0))


class SilentBits(RandomBits):
    """Fails the test that reads a byte."""

    def read(self, count: int) -> bytes:
        pytest.fail("a random byte was read")


def space_of_width(width: float = 2.0, clip: float | None = None) -> FeatureSpace:
    """A square of this width, ratings from 1 to 5. One rating moves a point by width * clip: by 3/4
    unless the clip is said.
    """
    clip = 0.75 / width if clip is None else clip
    encoder = made_encoder(ranking=2, least_likes=1, clip=clip, unit=width)
    return made_space(encoder)


def made_retriever(
    space: FeatureSpace, vectors: list[tuple[float, ...]], boosts: list[float] | None = None
) -> Retriever:
    order = dict.fromkeys((*SHARED_SLATE, *range(len(vectors))))
    shared = tuple(item for item in order if item < len(vectors))[:MAX_SLATE_SIZE]
    catalog = made_catalog(vectors, shared, boosts)
    return Retriever(made_card(space, catalog, MAX_SLATE_SIZE), catalog)


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a public moment."""
    hurry(monkeypatch)


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for every test: no configuration, profile or ledger of a real person."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("DATA", "STATE", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
    for name in [name for name in os.environ if name.startswith("ASKEW_")]:
        monkeypatch.delenv(name)
    return home


@pytest.fixture
def pair() -> Pair:
    return Pair(made_retriever(space_of_width(), VECTORS))


@pytest.fixture
def pair_in_a_space() -> Callable[..., Pair]:
    """Makes both sides of the same films in a space of another width, or clip."""
    return lambda **space: Pair(made_retriever(space_of_width(**space), VECTORS))


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.fixture
def silent_bits() -> SilentBits:
    return SilentBits()


@pytest.fixture
def replay() -> Callable[[str], ReplayBits]:
    """The same bytes for the same word, a million of them."""
    return lambda word: ReplayBits(hashlib.shake_256(word.encode()).digest(1_000_000))


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


Askew = Callable[..., Outcome]


@pytest.fixture
def askew(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Askew:
    """Runs the command in this process, from its arguments to its exit code."""

    def run(*arguments: str | Path, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "argv", ["askew", *map(str, arguments)])
        monkeypatch.setattr(sys.modules["__main__"], "__package__", "")  # or click says pytest
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        code: object = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
        assert isinstance(code, int)
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def demo_address() -> Iterator[str]:
    """The demo's server in a process of its own; its address."""
    command = (sys.executable, "-m", "askew_server", "serve", "--demo", "--port", "0")
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"ASKEW_WITH_PARENT": "1"},
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield process.stdout.readline().removeprefix("listening on ").partition(",")[0]
        process.stdin.close()

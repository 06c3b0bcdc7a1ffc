"""The loss of a signal, measured by bytes taken from the wire: of the default mechanisms, drawn
from the kernel's source by production devices that ask a real server through a proxy.

Two people are so far apart by the device's own metric that the claim is a loss of about two. The
best frozen rule tells their questions apart; its right guesses are binomial at most if the claim
holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from fractions import Fraction
from itertools import count
from pathlib import Path
from shutil import copytree

import pytest
from end_to_end.eavesdropping import Ratings, hostile_servers, serving
from end_to_end.eavesdropping_near import hostile_maps
from end_to_end.recording import Recording, questions_of, recorded
from guarantees.audit.black_box import Verdict, audit_pure, most_right, power

from askew.noise.lattice import LatticeLaplace, TwoSidedGeometric
from askew.spaces.map import MapNoise, Position
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client import AskewClient
from askew_client.settings.settings import ClientSettings
from askew_client.taste.exchange import Exchange

LOSS = 1.8  # that is claimed of two neighbors
FEW = 700  # draws of a planted bug
HOME = Position(52.52, 13.405)
TASTES = ClientSettings(mode="query", k=4, mechanism="geo_laplace")
PLACES = ClientSettings(
    region="DE",
    place_monthly_cap=Fraction(10**6),
    place_lifetime_cap=Fraction(10**6),
)
Values = Sequence[int]
Label = tuple[int, ...]
Draw = Callable[[int], list[Label]]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration, profile or ledger of a real person."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("DATA", "STATE", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


class Wire:
    """Devices whose questions are read from the wire. label: what an output is counted as."""

    def __init__(self, recording: Recording, root: Path, label: Callable[[Values], Label]) -> None:
        self._recording, self._root, self._label = recording, root, label
        self._numbers = count()

    def _taken(self) -> list[Label]:
        questions: list[pb.RetrieveRequest] = questions_of(self._recording.take())
        return [self._label(each.values) for each in questions if each.values]  # no card's

    def _directory(self) -> Path:
        return self._root / str(next(self._numbers))

    def _client(self, settings: ClientSettings, directory: Path) -> AskewClient:
        return AskewClient(settings, server=self._recording.address, directory=directory)

    def of_tastes(self, ratings: Ratings) -> Draw:
        """Each draw is another device's first question, by a card and a catalog that it holds."""
        held = self._directory()

        async def ask(draws: int) -> None:
            async with self._client(TASTES, held) as client:
                await client.quote()
            for _ in range(draws):
                directory = copytree(held, self._directory())
                async with self._client(TASTES, directory) as client:
                    edits = {label: (rating,) for label, rating in ratings.items()}
                    client.device.profile.edit(edits)
                    await client.ask()

        def draw(draws: int) -> list[Label]:
            asyncio.run(ask(draws))
            return self._taken()

        return draw

    def of_places(self, position: Position) -> Draw:
        """Each draw is a question from a position without a name, which is charged anew."""

        async def ask(draws: int) -> None:
            for begun in range(0, draws, 30):  # a charge takes longer the more there were
                async with self._client(PLACES, self._directory()) as client:
                    for _ in range(min(30, draws - begun)):
                        await client.near("places", position)

        def draw(draws: int) -> list[Label]:
            asyncio.run(ask(draws))
            return self._taken()

        return draw


def a_quarter_of_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: noise for four times the epsilon that is claimed."""
    made = TwoSidedGeometric.with_constant_work
    monkeypatch.setattr(TwoSidedGeometric, "with_constant_work", lambda q: made(q // 4))


def near_to(loss: float) -> tuple[Position, float]:
    """A position north of home, and the loss that is claimed of the two by the metric."""
    noise = PLACES.map_noise
    assert isinstance(noise, MapNoise)
    degrees = loss / float(noise.epsilon) / 111.3
    other = Position(round(HOME.latitude + degrees, 5), HOME.longitude)
    kilometers = (other.latitude - HOME.latitude) * 111.7  # a degree is shorter everywhere
    return other, kilometers * float(noise.epsilon)


LIKES: tuple[Ratings, Ratings] = (
    {"Film 1 (1961)": 5.0, "Film 9 (1969)": 5.0},
    {"Film 2 (1962)": 5.0, "Film 11 (1971)": 5.0},
)


def two_tastes() -> tuple[float, Values, Sequence[float]]:
    """The loss that is claimed of these two, the middle of their points, and half of the way in
    steps of the lattice.
    """
    server = hostile_servers()["an honest one"]()
    places = {item.label: n for n, item in enumerate(server.catalog.items)}
    made = [
        Exchange(server.card, server.catalog, TASTES, {places[title]: 5.0 for title in each})
        for each in LIKES
    ]
    mechanism = made[0].mechanism
    assert isinstance(mechanism, LatticeLaplace)
    first, second = (each.profile.point / mechanism.step for each in made)
    half = (abs(first - second) / 2).tolist()
    claimed = float(mechanism.epsilon) * mechanism.step * 2 * sum(half)
    return claimed, [round(each) for each in ((first + second) / 2).tolist()], half


def coarse(middle: Values, unit: Sequence[float]) -> Callable[[Values], Label]:
    """Where an output lies, in steps from the middle between two people, and at most three."""
    return lambda values: tuple(
        max(-3, min(3, round((value - mid) / step)))
        for value, mid, step in zip(values, middle, unit, strict=True)
    )


def audited(root: Path, kind: str, draws: int) -> tuple[Verdict, float]:
    """What draws of two people show, and what is claimed of them."""
    with ExitStack() as left:
        server = (hostile_servers() if kind == "tastes" else hostile_maps())["an honest one"]()
        recording = left.enter_context(recorded(left.enter_context(serving(server))))
        if kind == "tastes":
            claimed, middle, half = two_tastes()
            wire = Wire(recording, root, coarse(middle, half))
            first, second = map(wire.of_tastes, LIKES)
        else:
            north, claimed = near_to(LOSS)
            middle = [round(5e5 * (HOME.latitude + north.latitude)), round(1e6 * HOME.longitude)]
            up = 5e5 * (north.latitude - HOME.latitude)
            wire = Wire(recording, root, coarse(middle, (up, 1.6 * up)))
            first, second = wire.of_places(HOME), wire.of_places(north)
        return audit_pure(first, second, claimed, draws), claimed


@pytest.mark.parametrize(
    ("draws", "leak"),
    [
        pytest.param(1000, 2.5, marks=pytest.mark.audit),
        pytest.param(4000, 1.5, marks=pytest.mark.nightly),
    ],
)
@pytest.mark.parametrize("kind", ["tastes", "places"])
def test_bytes_of_the_wire_do_not_refute_the_claim(
    kind: str,
    draws: int,
    leak: float,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    """leak: a loss of so many times the claim is seen with the power that is told."""
    verdict, claimed = audited(tmp_path, kind, draws)
    strength = power(claimed, 0.5, most_right(leak * claimed), draws)
    assert strength > 0.95
    mechanisms = {"tastes": "LatticeLaplace", "places": "HexagonalLattice"}
    record_property("mechanism", f"{mechanisms[kind]}, on the wire")
    record_property("claimed", claimed)
    record_property("measured", verdict.at_least)
    record_property("p_value", verdict.p_value)
    record_property("power", f"{strength:.3g} at {leak} times the claim")
    assert not verdict.guilty


@pytest.mark.audit
@pytest.mark.parametrize("kind", ["tastes", "places"])
def test_noise_for_four_times_the_epsilon_is_caught_on_the_wire(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_quarter_of_the_noise(monkeypatch)
    assert audited(tmp_path, kind, FEW)[0].guilty

"""The loss of a signal, measured by bytes taken from the wire: of the default mechanisms, drawn
from the kernel's source by production devices that ask a real server through a proxy.

Two people are so far apart by the device's own metric that the claim is a loss of about two. A
rule tells their questions apart that was learned from the same mechanism with too little noise; its
right guesses are binomial at most if the claim holds.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from pathlib import Path
from shutil import copytree

import pytest
from end_to_end.eavesdropping import SERVERS, Eavesdropper, Ratings, serving
from end_to_end.eavesdropping_near import MAPS
from end_to_end.recording import Recording, questions_of, recorded
from guarantees.audit.black_box import Rule, Verdict, judged, power_of_rule, rule_from

from askew.noise.lattice import LatticeLaplace, TwoSidedGeometric
from askew.noise.randomness import SystemBits
from askew.spaces.map import MapNoise, Position
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client import AskewClient
from askew_client.catalog.cache import CachedCatalog
from askew_client.device.model import Exchange, Model
from askew_client.settings.settings import ClientSettings

LOSS = 1.8  # that is claimed of two neighbors
FEW = 450  # draws of a planted bug
LEARNED = 10_000  # draws of each that a rule is made from, and as many that it is tried on
HOME = Position(52.52, 13.405)
# An epsilon at which two tastes of so narrow a space lose about as much as two places do.
TASTES = ClientSettings(
    mode="ask", k=4, epsilon_per_rating=Fraction(4), rating_monthly_cap=Fraction(4)
)
PLACES = ClientSettings(
    region="DE",
    place_monthly_cap=Fraction(10**6),
    place_lifetime_cap=Fraction(10**6),
)
Values = Sequence[float]
Label = tuple[int, ...]
Draw = Callable[[int], list[Label]]

pytestmark = pytest.mark.usefixtures("home")


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
        held = self._directory()

        async def ask(draws: int) -> None:
            async with self._client(TASTES, held) as client:
                await client.cost()
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


@dataclass(frozen=True)
class Neighbors:
    """claimed: of these two. label: what an output is counted as. drawn: outputs of each, with
    noise for so many times the epsilon. first, second: the same draws, from the wire.
    """

    claimed: float
    label: Callable[[Values], Label]
    drawn: Callable[[Fraction, int], Sequence[Sequence[Values]]]
    first: Callable[[Wire], Draw]
    second: Callable[[Wire], Draw]


def two_places() -> Neighbors:
    """Home, and a position north of it."""
    noise, region = PLACES.map_noise, PLACES.plane
    assert isinstance(noise, MapNoise)
    degrees = LOSS / float(noise.epsilon) / 111.3
    north = Position(round(HOME.latitude + degrees, 5), HOME.longitude)
    kilometers = (north.latitude - HOME.latitude) * 111.7  # a degree is shorter everywhere
    middle = [round(5e5 * (HOME.latitude + north.latitude)), round(1e6 * HOME.longitude)]
    up = 5e5 * (north.latitude - HOME.latitude)

    def drawn(leak: Fraction, draws: int) -> Sequence[Sequence[Values]]:
        leaky = MapNoise.in_region(noise.epsilon * leak, region)
        bits = SystemBits()
        return [[leaky.perturb(each, region, bits) for _ in range(draws)] for each in (HOME, north)]

    return Neighbors(
        kilometers * float(noise.epsilon),
        coarse(middle, (up, 1.6 * up)),
        drawn,
        lambda wire: wire.of_places(HOME),
        lambda wire: wire.of_places(north),
    )


LIKES: tuple[Ratings, Ratings] = (
    {"Film 1 (1961)": 5.0, "Film 9 (1969)": 5.0},
    {"Film 2 (1962)": 5.0, "Film 11 (1971)": 5.0},
)


def two_tastes() -> Neighbors:
    server = SERVERS["an honest one"]()
    places = {item.label: n for n, item in enumerate(server.catalog.items)}
    model = Model.of(CachedCatalog(server.card, server.catalog, 0, 0))
    made = [Exchange(model, TASTES, {places[title]: 5.0 for title in each}) for each in LIKES]
    noise = made[0].mechanism
    points = [each.profile.point for each in made]
    first, second = (point / noise.step for point in points)
    half = (abs(first - second) / 2).tolist()
    middle = [round(each) for each in ((first + second) / 2).tolist()]

    def drawn(leak: Fraction, draws: int) -> Sequence[Sequence[Values]]:
        leaky = LatticeLaplace.for_epsilon(noise.epsilon * leak)
        scale, bits = leaky.step / noise.step, SystemBits()
        return [
            [[each * scale for each in leaky.perturb(point, bits)] for _ in range(draws)]
            for point in points
        ]

    return Neighbors(
        float(noise.epsilon) * noise.step * 2 * sum(half),
        coarse(middle, half),
        drawn,
        lambda wire: wire.of_tastes(LIKES[0]),
        lambda wire: wire.of_tastes(LIKES[1]),
    )


PEOPLE = {"tastes": two_tastes, "places": two_places}


def coarse(middle: Sequence[float], unit: Sequence[float]) -> Callable[[Values], Label]:
    """Where an output lies, in steps from the middle between two people, and at most three."""
    return lambda values: tuple(
        max(-3, min(3, round((value - mid) / step)))
        for value, mid, step in zip(values, middle, unit, strict=True)
    )


def learned(two: Neighbors, leak: Fraction) -> tuple[Rule, float, float]:
    """A rule that sees noise for so many times the epsilon; of what such noise makes, the share
    that it guesses on, and how many of its guesses are right.
    """
    ones, others = ([*map(two.label, each)] for each in two.drawn(leak, 2 * LEARNED))
    rule = rule_from(Counter(ones[:LEARNED]), Counter(others[:LEARNED]), two.claimed)
    right = [rule[each] for each in ones[LEARNED:] if each in rule]
    right += [not rule[each] for each in others[LEARNED:] if each in rule]
    return rule, len(right) / (2 * LEARNED), sum(right) / len(right)


def audited(root: Path, kind: str, two: Neighbors, rule: Rule, draws: int) -> Verdict:
    servers: Mapping[str, Callable[[], Eavesdropper]] = SERVERS if kind == "tastes" else MAPS
    with serving(servers["an honest one"]()) as address, recorded(address) as recording:
        wire = Wire(recording, root, two.label)
        return judged(rule, two.first(wire), two.second(wire), two.claimed, draws)


@pytest.mark.parametrize(
    ("draws", "leak"),
    [
        pytest.param(1000, Fraction("2.5"), marks=pytest.mark.audit),
        pytest.param(4500, Fraction("1.6"), marks=pytest.mark.nightly),
    ],
    ids=["audit", "night"],
)
@pytest.mark.parametrize("kind", PEOPLE)
def test_bytes_of_the_wire_do_not_refute_the_claim(
    kind: str,
    draws: int,
    leak: Fraction,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    """leak: a loss of so many times the claim is seen with the power that is told."""
    two = PEOPLE[kind]()
    rule, share, right = learned(two, leak)
    strength = power_of_rule(two.claimed, share, right, draws)
    verdict = audited(tmp_path, kind, two, rule, draws)
    mechanisms = {"tastes": "LatticeLaplace", "places": "HexagonalLattice"}
    record_property("mechanism", f"{mechanisms[kind]}, on the wire")
    record_property("claimed", two.claimed)
    record_property("measured", verdict.at_least)
    record_property("p_value", verdict.p_value)
    record_property("power", f"{int(1000 * strength) / 1000} at {float(leak)} times the claim")
    assert strength > 0.95
    assert not verdict.guilty


@pytest.mark.audit
@pytest.mark.parametrize("kind", PEOPLE)
def test_noise_for_four_times_the_epsilon_is_caught_on_the_wire(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = PEOPLE[kind]()
    rule, _, _ = learned(two, Fraction(4))
    a_quarter_of_the_noise(monkeypatch)
    assert audited(tmp_path, kind, two, rule, FEW).guilty

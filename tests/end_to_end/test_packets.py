"""What passes between a device and a server, recorded outside the device, tells two people apart
neither by how many connections there are nor by when they begin and end.

A device is a process that asks several times in a row and ends; its server may have looked for the
values of a reply that take a device longest.
"""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import pairwise
from pathlib import Path

import grpc
import numpy as np
import pytest
from end_to_end.eavesdropping import serving
from end_to_end.eavesdropping_near import HostileMap
from end_to_end.recorded_device import PICKY
from end_to_end.recording import Connection, recorded
from scipy.stats import mannwhitneyu, norm
from small_map import ATTRIBUTES, GERMANY, made_card, made_items

from askew.catalog.item import Listing
from askew.errors import AskewError
from askew.noise.hexagonal import HexagonalLattice
from askew.protocol.cards import PlaceSlate
from askew.protocol.signal import Query, Signal
from askew.spaces.map import LEAST_COSINE, MapNoise, MapSpace
from askew.wire.places import places_from_bytes, places_to_bytes
from askew_client.near.pick import judged
from askew_server.cli.main import cli

HERE = Path(__file__).parent


def visit(
    server: HostileMap,
    person: str,
    directory: Path,
    *,
    questions: int,
    interval: float,
    work: float = 0.0,
    rounds: int = 1,
    certificates: Path | None = None,
    begin: Callable[[], None] | None = None,
) -> tuple[list[Connection], float]:
    """Return the connections of a person's device, and when its process ended.

    certificates: a folder of `askew-server certs` for localhost: TLS, by a name, since gRPC keeps
    sessions by names. begin: is called in the new process first.
    """
    credentials, authority, host = None, "", "127.0.0.1"
    if certificates is not None:
        key, chain = ((certificates / name).read_bytes() for name in ("server.key", "server.pem"))
        credentials = grpc.ssl_server_credentials([(key, chain)])
        authority, host = str(certificates / "authority.pem"), "localhost"
    with serving(server, credentials) as address, recorded(address) as recording:
        port = recording.address.rpartition(":")[2]
        words = (f"{host}:{port}", directory, person, authority, questions, interval, work, rounds)
        done = subprocess.run(
            [sys.executable, str(HERE / "recorded_device.py"), *map(str, words)],
            capture_output=True,
            text=True,
            check=True,
            cwd=HERE.parent,
            preexec_fn=begin,
        )
        return recording.take(), float(done.stdout)


def gaps_of(connections: Sequence[Connection]) -> list[float]:
    return [b.began - a.ended for a, b in pairwise(connections)]


QUESTIONS, INTERVAL, WORK = 5, 0.9, 0.6


def assert_alike(connections: Sequence[Connection], questions: int) -> None:
    """Fail unless no moment has the work in it. One connection is the card's."""
    assert len(connections) == 1 + questions
    assert min(each.ended - each.replied for each in connections[1:]) < WORK / 2
    assert INTERVAL - 0.01 < min(gaps_of(connections)) < INTERVAL + WORK / 2


def test_five_questions_and_an_exit_sound_the_same_whatever_the_pick_takes(tmp_path: Path) -> None:
    """Planted bugs: a reply that is ranked before its connection is closed; a connection that the
    end of the process closes; a next one that begins when the ranking is done.

    The work that is planted is .6 s, and of five times the least counts, so that a busy machine
    alone makes no alarm.
    """

    def heard(person: str, work: float) -> tuple[list[Connection], float]:
        folder = tmp_path / person
        return visit(honest(), person, folder, questions=QUESTIONS, interval=INTERVAL, work=work)

    with ThreadPoolExecutor() as both:  # devices and servers of their own, which mostly wait
        (plain, _), (picky, end) = both.map(heard, ("plain", "picky"), (0.0, WORK))
    for connections in (plain, picky):
        assert_alike(connections, QUESTIONS)
        assert {each.how for each in connections} == {"ends"}
    assert end - picky[-1].ended > WORK / 2  # hung up long before the process ends


TICKET, PRE_SHARED_KEY, SUPPORTED_VERSIONS = 35, 41, 43  # extensions of a ClientHello


def read_hello(record: bytes) -> tuple[bytes, dict[int, bytes]]:
    """The session that a ClientHello names, and its extensions by their numbers (RFC 8446, 4)."""
    assert (record[0], record[5]) == (22, 1)  # a handshake, a ClientHello
    rest = io.BytesIO(record[9 + 2 + 32 :])  # behind two headers, a version and a random number

    def field(width: int) -> bytes:
        return rest.read(int.from_bytes(rest.read(width)))

    session, _, _ = field(1), field(2), field(1)
    rest = io.BytesIO(field(2))
    found = {}
    while kind := rest.read(2):
        found[int.from_bytes(kind)] = field(2)
    return session, found


def test_over_tls_no_connection_resumes_another_and_each_ends_before_the_pick(
    tmp_path: Path,
) -> None:
    """A ticket of the one before would tell a server, and whoever listens, whose the next one is.
    Planted bugs: a cache of sessions among the channel's options; a reply ranked too soon.
    """
    cli.main(["certs", str(tmp_path / "dev"), "--host", "localhost"], standalone_mode=False)
    connections, _ = visit(
        honest(),
        "picky",
        tmp_path / "picky",
        questions=3,
        interval=INTERVAL,
        work=WORK,
        certificates=tmp_path / "dev",
    )
    assert_alike(connections, 3)
    sessions, extensions = zip(*[read_hello(each.data) for each in connections], strict=True)
    assert len(set(sessions)) == 4  # random
    for each in extensions:
        assert SUPPORTED_VERSIONS in each  # or this would read nothing
        assert PRE_SHARED_KEY not in each
        assert each.get(TICKET, b"") == b""


def honest() -> HostileMap:
    return HostileMap(made_card(MapSpace(GERMANY)))


# A server that looks for what takes a device longest.

MARKS = "aß İǰΐ\u0301\u0323\u0345ﷺ﷽Ⅷ①⑩ #+'-.·é가"
HOURS = ["24/7", "off", "Mo-Su", "Mo,Tu,We,Th,Fr", "PH", "00:00-24:00", "10:00-12:00", ",", ";"]
NUMBERS = [0.0, -0.0, 5e-324, 1e-300, 1e22, 1.7e308, -1.7e308, 52.5, -90.0, 180.0, 1 / 3, 2.0**53]
HOURS += [" ", "22:00-06:00", "Jan-Mar", '"by appointment"', "||", "week 1-53/2", "sunrise-sunset"]


def legal(made: Callable[[], Sequence[Listing]]) -> tuple[Listing, ...] | None:
    """What a device takes of a reply with these; None where it refuses."""
    card = made_card(MapSpace(GERMANY))
    try:
        listings = made()
        reply = places_to_bytes(PlaceSlate("ab" * 16, tuple(listings)), card.collections[0])
        noise = MapNoise(HexagonalLattice(0, 8), LEAST_COSINE)
        query = Query(Signal("", noise, (0, 0)), len(listings), 0)
        return places_from_bytes(reply, card, query)[0].listings
    except AskewError:
        return None


LIKED = {f"item {i}": 1.0 for i in range(60)}


def cost(listings: Sequence[Listing]) -> float:
    times = []
    for _ in range(3):
        began = time.perf_counter()
        judged(
            listings, ATTRIBUTES, [1.0] * len(listings), PICKY, LIKED, datetime(2026, 11, 23, 12)
        )
        times.append(time.perf_counter() - began)
    return min(times)


def mutated(listing: Listing, chance: random.Random) -> Listing:
    """One field of it changed: longer, in other letters, another number, or unknown."""
    cuisine, price, hours = listing.values
    match chance.randrange(6):
        case 3:
            return replace(listing, values=(cuisine, chance.choice(NUMBERS), hours))
        case 4:
            return replace(listing, coordinates=(chance.choice(NUMBERS), chance.choice(NUMBERS)))
        case 5:
            unknown = chance.randrange(3)
            values = [None if n == unknown else each for n, each in enumerate(listing.values)]
            return replace(listing, values=tuple(values))
        case 0:
            text = "".join(chance.choices(MARKS, k=chance.choice([1, 20, 60, 200])))
            return replace(listing, title=text)
        case 1:
            text = "".join(chance.choices(MARKS, k=chance.choice([1, 20, 60])))
            return replace(listing, values=(text, price, hours))
        case _:
            text = "".join(chance.choices(HOURS, k=chance.choice([1, 4, 12, 30])))
            return replace(listing, values=(cuisine, price, text))


def copies_of_a_mutated(listing: Listing, chance: random.Random) -> list[Listing]:
    one = mutated(listing, chance)
    return [replace(one, id=i) for i in range(20)]


def dearest(steps: int, chance: random.Random, measure: Callable[..., float] = cost) -> Listing:
    """The listing found whose choice takes longest: by hill climbing."""
    best = made_items(MapSpace(GERMANY))[0]
    most = measure([best] * 20)
    for _ in range(steps):
        taken = legal(partial(copies_of_a_mutated, best, chance))
        if taken is not None and (seconds := measure(taken)) > most:
            best, most = taken[0], seconds
    return best


def test_the_search_climbs_and_what_it_finds_is_legal() -> None:
    """Or the audit would play an honest server only. Measured by letters, not by a clock."""

    def letters(listings: Sequence[Listing]) -> float:
        return float(sum(len(each.title) + len(str(each.values)) for each in listings))

    chance, first = random.Random(0), made_items(MapSpace(GERMANY))[0]
    tried = [mutated(first, chance) for _ in range(200)]
    taken = [each for each in tried if legal(lambda each=each: [each]) is not None]  # type: ignore[misc]
    assert {each.coordinates for each in taken} > {first.coordinates}
    for n in range(3):
        assert {each.values[n] for each in taken} > {first.values[n], None}
    found = dearest(150, random.Random(0), letters)
    assert legal(lambda: [found]) is not None
    assert letters([found]) > 2 * letters([first])


def costly(steps: int) -> HostileMap:
    found = dearest(steps, random.Random(0))
    items = [replace(found, id=each.id, coordinates=each.coordinates) for each in honest().items]
    return HostileMap(made_card(MapSpace(GERMANY)), items)


SEQUENCE = 5
A_YEAR = 365  # questions


def heard_in(processes: int, rounds: int, root: Path) -> dict[str, dict[str, list[float]]]:
    """Seconds of connect, send and close, of people with and without ratings, preferences and
    filters, who take turns, at a server that searched, on one slow core. A process opens a device
    so many times, for five questions each; what is between two sequences is not heard.
    """
    server = costly(200)
    slow = partial(os.sched_setaffinity, 0, {min(os.sched_getaffinity(0))})
    heard: dict[str, dict[str, list[float]]] = {}
    for number in range(processes):
        for person in ("plain", "picky"):
            found, _ = visit(
                server,
                person,
                root / f"{person} {number}",
                questions=SEQUENCE,
                interval=0.3,
                rounds=rounds,
                begin=slow,
            )
            assert len(found) == 1 + rounds * SEQUENCE  # the card's, and one for each question
            mine = heard.setdefault(person, {"connect": [], "send": [], "close": []})
            for first in range(1, len(found), SEQUENCE):
                sequence = found[first : first + SEQUENCE]
                mine["connect"] += gaps_of(sequence)
                mine["send"] += [each.spoke - each.began for each in sequence]
                mine["close"] += [each.ended - each.replied for each in sequence]
        told_by(heard)  # so far
    return heard


def told_by(heard: dict[str, dict[str, list[float]]]) -> dict[str, float]:
    """The area of each moment, whichever of the two is later; shown with what a year adds up to, if
    every question told as much on its own.
    """
    told: dict[str, float] = {}
    for moment in ("connect", "send", "close"):
        plain, picky = (heard[person][moment] for person in ("plain", "picky"))
        found = float(mannwhitneyu(picky, plain).statistic) / (len(plain) * len(picky))
        told[moment] = max(found, 1 - found)
        error = (1 / 6 / len(plain)) ** 0.5
        year = norm.cdf(norm.ppf(told[moment]) * A_YEAR**0.5)
        sys.stdout.write(
            f"{moment}: area {told[moment]:.3f} +- {error:.3f}, {len(plain)} and {len(picky)} "
            f"connections; a year of {A_YEAR} questions: {year:.2f}\n"
        )
    return told


MOST_TOLD = 0.53  # .50 +- .005 tells nothing


@pytest.mark.parametrize(
    ("processes", "rounds", "most"),
    [
        pytest.param(1, 25, 0.75, marks=pytest.mark.audit),
        pytest.param(28, 50, MOST_TOLD, marks=pytest.mark.nightly),
    ],
    ids=["audit", "night"],
)
def test_connections_at_a_server_that_searched_tell_two_people_hardly_apart(
    processes: int, rounds: int, most: float, tmp_path: Path
) -> None:
    """For an audit, of 100 at least of each: six deviations of .041, a chance of 1e-9 a moment if
    they are alike; closing after the choice gives an area of 1. For a night, of 7,000, in an hour
    and a half.
    """
    assert max(told_by(heard_in(processes, rounds, tmp_path)).values()) < most


def test_the_measured_area_sees_work_before_the_close() -> None:
    """Planted: a close that is a tenth of a millisecond later for one of the two."""
    chance = np.random.default_rng(0)
    plain = (0.002 + chance.exponential(1e-4, 2000)).tolist()
    same = {"connect": plain, "send": plain, "close": plain}
    later = same | {"close": [each + 1e-4 for each in plain]}
    assert told_by({"plain": same, "picky": same})["close"] == 0.5
    assert told_by({"plain": same, "picky": later})["close"] > MOST_TOLD

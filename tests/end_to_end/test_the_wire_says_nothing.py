"""Noninterference on the bytes of the wire: with every mechanism's output frozen, what can be seen
of a device is the same for all people, to the last byte.

A proxy stands between the production device and a server with real sockets: questions by gRPC,
files by HTTP. What is seen of a person: the connections in their order and every byte that was sent
by them, what the device answers to its program, each line that is logged, and the files beside the
private store. Under each hostile server all people must be one observation: a set of two is a leak,
with no false alarms.

There are two kinds of play. A first contact fetches, draws and asks twice. A person who changes is
one device whose ratings, place or preferences are replaced between two questions.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import pytest
from end_to_end.eavesdropping import (
    SERVERS,
    Eavesdropper,
    Ratings,
    default_budget,
    large_server,
    people,
    serving,
)
from end_to_end.eavesdropping_near import MAPS, HonestRows, Neighbor, neighbors
from end_to_end.recording import (
    Log,
    Recording,
    files_outside_the_private_store,
    frozen,
    logged,
    recorded,
)
from served_rows import rows_model

from askew.errors import AskewError, ProfileError
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client import AskewClient, AxisValues
from askew_client.device.asker import Asker
from askew_client.near.pick import NO_PREFERENCES
from askew_client.settings.settings import ClientSettings, ModeName

MANY = Fraction(10**6)
TASTES = ClientSettings(
    mode="ask", k=4, region="DE", place_monthly_cap=MANY, place_lifetime_cap=MANY
)
PLACES = replace(TASTES, mode="auto")
P = TypeVar("P", Ratings, Neighbor)
Act = Callable[[AskewClient, P], Awaitable[str]]

pytestmark = pytest.mark.usefixtures("home")
HONEST = "an honest one"
PAIRS = {"tastes": 300, "places": 180}  # of a night, at each of 25 and of 14 servers
FEW_PAIRS, A_PART = 40, 8  # and of an audit, an eighth


@dataclass(frozen=True)
class Seen:
    """All that can be seen of one play from outside the private store."""

    ends: str
    wire: tuple[tuple[object, ...], ...]
    log: tuple[str, ...]
    files: tuple[tuple[str, str], ...]

    @property
    def n_questions(self) -> int:
        return sum(each[0] == "grpc" for each in self.wire)


def the_only(found: set[Seen]) -> Seen:
    """The one observation that all people are. Of two, what differs is named."""
    first, *others = sorted(found, key=str)
    for other in others:
        for each in fields(Seen):
            assert getattr(other, each.name) == getattr(first, each.name), each.name
    return first


@dataclass
class Watch:
    recording: Recording
    log: Log

    @property
    def address(self) -> str:
        return self.recording.address

    def seen(self, ends: str, directory: Path) -> Seen:
        wire = tuple(each.said() for each in self.recording.take())
        return Seen(ends, wire, self.log.take(), files_outside_the_private_store(directory))


@contextmanager
def watched(server: Eavesdropper) -> Iterator[Watch]:
    with serving(server) as address, recorded(address) as recording, frozen(), logged() as log:
        yield Watch(recording, log)


def become(client: AskewClient, ratings: Ratings) -> None:
    edits: dict[str, tuple[()] | tuple[float | None]]
    edits = {rated.label: () for rated in client.ratings()}
    edits |= {label: (rating,) for label, rating in ratings.items()}
    if edits:
        client.device.profile.edit(edits)


async def ended(call: Awaitable[object]) -> str:
    try:
        await call
    except AskewError as error:
        return f" {type(error).__name__}: {error}"
    return " answered"


async def ask(client: AskewClient, person: Ratings) -> str:
    become(client, person)
    return await ended(client.ask())


async def ask_twice(client: AskewClient, person: Ratings) -> str:
    """One question draws, one sends again."""
    return await ask(client, person) + await ended(client.ask())


async def move_and_ask(client: AskewClient, person: Neighbor) -> str:
    become(client, dict(person.ratings))
    act = client.places.move if client.places.list() else client.places.add
    act("home", person.home, take=False)
    return await ended(client.near("places", "home", preferences=person.preferences))


async def ask_near(client: AskewClient, person: Neighbor) -> str:
    """From a named place twice, an unnamed position, a named value twice."""
    ends = await move_and_ask(client, person)
    client.places.add("hour", AxisValues({"hour": person.hour}))
    for place in ("home", person.home, "hour", "hour"):
        ends += await ended(client.near("places", place, preferences=person.preferences))
    return ends


async def ask_all(client: AskewClient, person: Neighbor) -> str:
    """All collections, twice; then the static one, which asks nothing; then the live one."""
    become(client, dict(person.ratings))
    client.places.add("home", person.home)
    wanted = person.preferences
    answers = [*await client.near_all("home", preferences=wanted)]
    answers += await client.near_all("home", preferences=wanted)
    for name in ("posts", "cafes"):
        shown = await client.near_cost(name, "home")
        answers.append(await client.near(name, "home", preferences=wanted, shown=shown))
    return " ".join(f"{answer.collection} {answer.k} {answer.sent}" for answer in answers)


async def first_contacts(
    server: Eavesdropper,
    persons: Iterable[P],
    act: Act[P],
    root: Path,
    settings: ClientSettings = TASTES,
) -> set[Seen]:
    """See what people do, each with a device of their own."""
    seen = set()
    with watched(server) as watch:
        for number, person in enumerate(persons):
            directory = root / str(number)
            async with AskewClient(settings, server=watch.address, directory=directory) as client:
                ends = await act(client, person)
            seen.add(watch.seen(ends, directory))
    return seen


async def changes(
    server: Eavesdropper,
    persons: Iterable[P],
    act: Act[P],
    root: Path,
    settings: ClientSettings = TASTES,
) -> set[Seen]:
    """See what people do with one device; the first one begins it unseen."""
    first, *others = persons
    seen = set()
    with watched(server) as watch:
        async with AskewClient(settings, server=watch.address, directory=root) as client:
            await act(client, first)
            watch.seen("", root)
            for person in (first, *others):
                seen.add(watch.seen(await act(client, person), root))
    return seen


@pytest.mark.thin(5)
@pytest.mark.parametrize("name", SERVERS)
async def test_at_first_contact_all_tastes_are_one_observation(name: str, tmp_path: Path) -> None:
    """Caught here: no question where nothing of the catalog is rated (one bit a catalog, for free),
    a refusal of ratings beyond the scale, one call more or less.
    """
    the_only(await first_contacts(SERVERS[name](), people(14), ask_twice, tmp_path))


@pytest.mark.slow
async def test_most_of_the_servers_are_asked(tmp_path: Path) -> None:
    """Or nothing would have been observed above."""
    silent = set()
    for name, make in SERVERS.items():
        seen = the_only(await first_contacts(make(), people(1), ask_twice, tmp_path / name))
        if not seen.n_questions:
            silent.add(name)
    assert silent == {
        "a space too wide",
        "one item",
        "one rating worth all",
        "fewer results than asked for",
    }


@pytest.mark.parametrize(("mode", "questions"), [("auto", 0), ("ask", 2)])
async def test_whether_a_device_asks_is_the_same_for_all_tastes(
    mode: ModeName, questions: int, tmp_path: Path
) -> None:
    """Of which it holds a part. Caught here: no question where the best item is held, or was met;
    one because it is not.
    """
    server = large_server()
    settings = replace(TASTES, mode=mode, byte_budget=default_budget(server))
    seen = the_only(await first_contacts(server, people(6), ask_twice, tmp_path, settings))
    assert seen.n_questions == questions


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", MAPS)
async def test_at_first_contact_all_neighbors_are_one_observation(
    name: str, tmp_path: Path
) -> None:
    """Caught here: filters that leave; a second question with a larger k where no result passes or
    all are far; a value beyond a server's axis that is refused.
    """
    the_only(await first_contacts(MAPS[name](), neighbors(6), ask_near, tmp_path, PLACES))


async def test_asking_all_of_a_server_with_rows_is_one_observation(tmp_path: Path) -> None:
    """Rows by HTTP, static and live. Caught here: a question for the collections that the
    preferences name; a second one where none of the live collection passes; rows fetched again.
    """
    server = HonestRows(rows_model())
    seen = the_only(await first_contacts(server, neighbors(20), ask_all, tmp_path, PLACES))
    assert [door for door, *_ in seen.wire] == ["grpc", "grpc", "grpc", "http", "http", "grpc"]


def pairs_at(servers: Iterable[str], number: int) -> Iterator[object]:
    """A few at the honest one; at each a part of so many in an audit, and so many in a night."""
    yield pytest.param(HONEST, FEW_PAIRS, id="a few")
    for name in servers:
        yield pytest.param(name, number // A_PART, marks=pytest.mark.audit, id=name)
        yield pytest.param(name, number, marks=pytest.mark.nightly, id=f"all night: {name}")


def test_a_night_compares_ten_thousand_pairs() -> None:
    assert len(SERVERS) * PAIRS["tastes"] + len(MAPS) * PAIRS["places"] >= 10_000


@pytest.mark.parametrize(("name", "pairs"), [*pairs_at(SERVERS, PAIRS["tastes"])])
async def test_a_person_whose_taste_changes_is_one_observation(
    name: str, pairs: int, tmp_path: Path
) -> None:
    """One question of nobody who rated anything, and the same question of so many others."""
    the_only(await changes(SERVERS[name](), people(1 + pairs), ask, tmp_path))


@pytest.mark.parametrize(("name", "pairs"), [*pairs_at(MAPS, PAIRS["places"])])
async def test_a_person_who_moves_and_wants_other_things_is_one_observation(
    name: str, pairs: int, tmp_path: Path
) -> None:
    """Homes, ratings, preferences and filters."""
    the_only(await changes(MAPS[name](), neighbors(1 + pairs), move_and_ask, tmp_path, PLACES))


# One leak of each kind that can be seen, planted in the production objects: a question that is not
# asked, one more, a byte of it, a line of the log and a file.

Plant = Callable[[pytest.MonkeyPatch], None]
_ask, _prepared = Asker.ask, Asker._prepared


def stays_silent_where_nothing_is_rated(monkeypatch: pytest.MonkeyPatch) -> None:
    def prepared(asker: Asker, subject: Any, agreed: Any) -> Any:
        if not subject.source.ratings:
            raise ProfileError("nothing is rated")
        return _prepared(asker, subject, agreed)

    monkeypatch.setattr(Asker, "_prepared", prepared)


def in_the_question(change: Callable[[pb.RetrieveRequest, Any], object]) -> Plant:
    """Plant a change of the request that the device is about to send, by its subject."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        def prepared(asker: Asker, subject: Any, agreed: Any) -> Any:
            query, sent, cost = _prepared(asker, subject, agreed)
            request = pb.RetrieveRequest.FromString(sent)
            change(request, subject)
            return query, request.SerializeToString(), cost

        monkeypatch.setattr(Asker, "_prepared", prepared)

    return plant


def at_the_answer(act: Callable[[Any, Any], object]) -> Plant:
    """Plant an act of the device on its question and answer; it asks again where this is true."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        async def ask(asker: Asker, question: Any, **options: Any) -> Any:
            answer = await _ask(asker, question, **options)
            return await _ask(asker, question, **options) if act(question, answer) else answer

        monkeypatch.setattr(Asker, "ask", ask)

    return plant


def one_number_that_was_not_drawn(request: pb.RetrieveRequest, subject: Any) -> None:
    request.values[-1] += len(subject.source.ratings)


def more_with_ratings(request: pb.RetrieveRequest, subject: Any) -> None:
    request.k += bool(subject._document.ratings)


def log_the_pick(_: Any, answer: Any) -> None:
    logging.getLogger("askew_client.device").debug("picked %s", answer.pick.title)


def keep_the_pick_beside_the_catalog(question: Any, answer: Any) -> None:
    question._library.cache.directory.joinpath("last").write_text(answer.pick.title)


IN_A_TASTE: dict[str, Plant] = {
    "stays silent where nothing is rated": stays_silent_where_nothing_is_rated,
    "sends one number that was not drawn": in_the_question(one_number_that_was_not_drawn),
    "logs the pick": at_the_answer(log_the_pick),
    "keeps the pick beside the catalog": at_the_answer(keep_the_pick_beside_the_catalog),
}
OF_A_PLACE: dict[str, Plant] = {
    "asks again where something is preferred": at_the_answer(
        lambda question, _: question._preferences != NO_PREFERENCES
    ),
    "asks for more with ratings": in_the_question(more_with_ratings),
}


@pytest.mark.thin(2)
@pytest.mark.parametrize("plant", IN_A_TASTE)
async def test_a_planted_leak_of_tastes_is_seen(
    plant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    IN_A_TASTE[plant](monkeypatch)
    persons, server = people(14), SERVERS[HONEST]()
    assert len(await first_contacts(server, persons, ask_twice, tmp_path / "first")) > 1
    assert len(await changes(server, persons, ask, tmp_path / "changing")) > 1


@pytest.mark.thin(1)
@pytest.mark.parametrize("plant", OF_A_PLACE)
async def test_a_planted_leak_of_places_is_seen(
    plant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    OF_A_PLACE[plant](monkeypatch)
    persons, server = neighbors(6), MAPS[HONEST]()
    assert len(await first_contacts(server, persons, ask_near, tmp_path / "first", PLACES)) > 1
    assert len(await changes(server, persons, move_and_ask, tmp_path / "changing", PLACES)) > 1

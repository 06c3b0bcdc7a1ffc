"""A reply from a table is found at once, and only where the long way would answer too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from small_world import made_buckets, made_card, made_catalog, made_encoder, made_space
from wire.hostility import altered
from wire.test_hostile_bytes import BUCKET_REQUESTS, REQUESTS

from askew.catalog.catalog_file import FIRST, PERIOD
from askew.errors import NotFound, OutOfRange, StaleSpace, WireError
from askew.noise.lattice import COORDINATE_LIMIT, LatticeLaplace
from askew.noise.randomized_response import ODDS_BITS, RandomizedResponse
from askew.protocol.signal import Mechanism, Query, Signal
from askew.protocol.utility_table import RuleKind
from askew.spaces.vectors import FeatureSpace
from askew.wire.queries import query_to_bytes
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.retrieval.snapshot import Retriever, Snapshot, SnapshotHolder
from askew_server.retrieval.tabulated import tables_of
from askew_server.serving import retrieval
from askew_server.serving.call import Job
from askew_server.serving.retrieval import RetrievalService
from askew_server.taste.model.answer_tables import AnswerTable
from askew_server.taste.prior.people import PriorPeople

K = 3
TODAY = FIRST + 10 * PERIOD
POINTS = LatticeLaplace.for_epsilon(Fraction(1))
BUCKETS = RandomizedResponse.for_epsilon(4, Fraction(2))


class Nobody:
    """A caller without headers."""

    def authorization(self) -> Sequence[str]:
        """None at all."""
        return ()


class Weighed(Retriever):
    """Each answer is a job, so that what a table answers can be told from what is found out."""

    def cost(self, _: Query) -> int:
        return 1


def made() -> Retriever:
    """Forty films, four buckets and thirty people; points are published, for k = 3."""
    space = made_space(made_encoder(d=2, ranking=3), made_buckets())
    rows = np.random.default_rng(4).integers(-8, 8, size=(40, 3)) / 4
    catalog = made_catalog(list(map(tuple, rows.tolist())), tuple(range(40))[::-1])
    card = made_card(space, catalog, 20)
    rule = replace(card.rule, kind=RuleKind.POSTERIOR, epsilon=1.0, k=K)
    return Weighed(replace(card, rule=rule), catalog, people_in(space))


def people_in(space: FeatureSpace) -> PriorPeople:
    points = np.random.default_rng(6).uniform(0, space.encoder.unit, (30, 2))
    tastes = space.encoder.decode(points).astype(np.float32)
    return PriorPeople(tastes, points, csr_array((30, 40)), np.ones(30), "SIMULATED")


def table_of(retriever: Retriever) -> AnswerTable:
    found = tables_of(retriever)
    assert found is not None
    (table,) = found.tables
    return table


RETRIEVER = made()
TABLE = table_of(RETRIEVER)
PLAIN = RETRIEVER.snapshot


def service(*versions: Snapshot) -> RetrievalService:
    return RetrievalService(SnapshotHolder(*versions, today=lambda: TODAY))


TABULATED = service(replace(PLAIN, tables=(TABLE,)))
UNTABULATED = service(PLAIN)


def asked(asking: RetrievalService, request: bytes) -> bytes | Job | type[WireError]:
    """What a service says, or as what it refuses."""
    try:
        return asking.methods["Retrieve"](request, Nobody())
    except WireError as error:
        return type(error)


def in_full(asking: RetrievalService, request: bytes) -> bytes | type[WireError]:
    """The same when its job is done."""
    said = asked(asking, request)
    return said.run() if isinstance(said, Job) else said


def request_of(mechanism: Mechanism, values: tuple[int, ...], k: int = K) -> bytes:
    signal = Signal(PLAIN.card.space.version, mechanism, values)
    return query_to_bytes(Query(signal, k, catalog_date=FIRST))


def at_its_center(request: bytes) -> bytes:
    """The same request with the center of its signal's cell."""
    message = pb.RetrieveRequest.FromString(request)
    cells = TABLE.cells
    return altered(message, "values", cells.center(cells.find(message.values)))


@pytest.mark.parametrize("values", [(0, 0), (1500, -300), (700, 800), (2**31 - 1, -5)])
def test_a_published_question_is_answered_at_once_as_its_cell(values: tuple[int, ...]) -> None:
    request = request_of(POINTS, values)
    reply = asked(TABULATED, request)
    assert isinstance(reply, bytes)
    assert in_full(UNTABULATED, at_its_center(request)) == reply
    assert isinstance(asked(UNTABULATED, request), Job)


@pytest.mark.parametrize(
    "request_bytes",
    [
        request_of(POINTS, (5, 5), k=K + 1),
        request_of(LatticeLaplace.for_epsilon(Fraction(2)), (5, 5)),
        request_of(BUCKETS, (1,)),
    ],
    ids=["another k", "another epsilon", "a bucket"],
)
def test_any_other_question_is_answered_as_without_tables(request_bytes: bytes) -> None:
    assert isinstance(asked(TABULATED, request_bytes), Job)
    assert in_full(UNTABULATED, request_bytes) == in_full(TABULATED, request_bytes)


def test_nothing_is_encoded_answered_or_kept_for_a_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A reply that came sooner for having been asked for would tell what was asked."""
    fresh = service(replace(PLAIN, tables=(TABLE,)))

    def never(*_: object) -> bytes:
        raise AssertionError("made for a question")

    monkeypatch.setattr(retrieval, "slate_to_bytes", never)
    monkeypatch.setattr(Retriever, "answer", never)
    for cell in range(len(TABLE.cells)):
        assert isinstance(asked(fresh, request_of(POINTS, TABLE.cells.center(cell))), bytes)


def test_equal_slates_share_one_reply() -> None:
    centers = map(TABLE.cells.center, range(len(TABLE.cells)))
    replies = [asked(TABULATED, request_of(POINTS, center)) for center in centers]
    assert len(set(map(id, replies))) == len(TABLE.slates) < len(replies)


# -- refused --------------------------------------------------------------------------------------

Hostile = tuple[bytes, str, object, type[WireError]]
BY_POINT, BY_BUCKET = request_of(POINTS, (5, 5)), request_of(BUCKETS, (1,))
HOSTILE: dict[str, Hostile] = {
    **{name: (BY_POINT, *case) for name, case in REQUESTS.items()},
    **{f"{name}, by bucket": (BY_BUCKET, *case) for name, case in BUCKET_REQUESTS.items()},
    "a collection": (BY_POINT, "collection", "elsewhere", NotFound),
    "a Tuesday": (BY_POINT, "catalog_date", FIRST + 1, StaleSpace),
    "a Monday that has not come": (BY_POINT, "catalog_date", TODAY + 2 * PERIOD, StaleSpace),
    "no catalog date, by bucket": (BY_BUCKET, "catalog_date", 0, StaleSpace),
    "k = 21 of 20": (BY_POINT, "k", 21, OutOfRange),
}
del HOSTILE["k = 6 of 5 items"]  # here are forty


@pytest.mark.parametrize(("whole", "path", "value", "kind"), HOSTILE.values(), ids=HOSTILE)
def test_what_is_refused_without_tables_is_refused_alike_with_them(
    whole: bytes, path: str, value: object, kind: type[WireError]
) -> None:
    bad = altered(pb.RetrieveRequest.FromString(whole), path, value)
    assert kind is asked(UNTABULATED, bad)
    assert kind is asked(TABULATED, bad)


numbers = st.integers(-COORDINATE_LIMIT - 1, COORDINATE_LIMIT)
near = st.integers(-3000, 6000)
requests = st.builds(
    pb.RetrieveRequest,
    space_version=st.sampled_from([b"", b"", b"", bytes(16), b"x"]),
    k=st.sampled_from([K, K, K, 0, 5, 2**32 - 1]),
    lattice=st.one_of(
        st.just(pb.LatticeNoise(step_exponent=POINTS.step_exponent, inverse_rate=1024)),
        st.builds(pb.LatticeNoise, step_exponent=st.integers(0, 22), inverse_rate=near.map(abs)),
    ),
    values=st.lists(st.one_of(near, numbers), min_size=1, max_size=3),
    collection=st.sampled_from(["", "", "", "elsewhere"]),
    catalog_date=st.sampled_from([FIRST, FIRST, FIRST, TODAY, 0, 5, 2**32 - 1]),
)
by_bucket = st.builds(
    pb.RetrieveRequest,
    k=st.sampled_from([K, K, 0, 5]),
    randomized_response=st.builds(
        pb.RandomizedResponse,
        buckets=st.sampled_from([4, 4, 5]),
        odds=st.sampled_from([int(BUCKETS.odds * 2**ODDS_BITS)] * 2 + [0, 2**33, 2**64 - 1]),
    ),
    values=st.lists(st.integers(-1, 5), min_size=0, max_size=2),
    catalog_date=st.sampled_from([FIRST, FIRST, 0]),
)


@pytest.mark.slow
@given(message=st.one_of(requests, by_bucket))
@settings(max_examples=400, derandomize=True, database=None, deadline=None)
def test_with_or_without_tables_the_same_is_refused_and_the_same_rule_answers(
    message: pb.RetrieveRequest,
) -> None:
    request = message.SerializeToString()
    said = asked(TABULATED, request)
    if isinstance(said, bytes):
        assert in_full(UNTABULATED, at_its_center(request)) == said
        assert isinstance(asked(UNTABULATED, request), Job)
    else:
        assert in_full(UNTABULATED, request) == in_full(TABULATED, request)


@given(data=st.binary(max_size=80))
@settings(max_examples=200, derandomize=True, database=None, deadline=None)
def test_any_bytes_are_refused_alike(data: bytes) -> None:
    assert in_full(UNTABULATED, data) == in_full(TABULATED, data)


def test_each_version_answers_from_its_own_tables() -> None:
    """The table of one catalog never answers for another."""
    later = made_catalog([(1.0, 0.0, float(i % 7) / 4) for i in range(40)], tuple(range(40)))
    card = replace(RETRIEVER.card, catalog_version=later.version)
    other = Weighed(card, later, people_in(card.space))
    monday = FIRST + 9 * PERIOD
    both = service(
        replace(PLAIN, tables=(TABLE,)),
        replace(other.snapshot, since=monday, tables=(table_of(other),)),
    )
    request = request_of(POINTS, (300, 300))
    replies = {
        catalog_date: asked(
            both, altered(pb.RetrieveRequest.FromString(request), "catalog_date", catalog_date)
        )
        for catalog_date in (FIRST, monday)
    }
    versions = {
        catalog_date: pb.RetrieveResponse.FromString(reply).catalog_version.hex()
        for catalog_date, reply in replies.items()
        if isinstance(reply, bytes)
    }
    assert versions == {FIRST: RETRIEVER.catalog.version, monday: later.version}

"""Popularity and Analyst on the wire: a core type or a WireError, whatever the other side sends."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askew.dp.analyst import BudgetStatus, PayWhatYouGet, TopKQuestion
from askew.dp.privacy import ADD_OR_REMOVE_ONE, ApproximateDP
from askew.dp.release import Release
from askew.errors import OutOfRange, WireError
from askew.wire.releases import (
    answer_from_bytes,
    answer_to_bytes,
    budget_from_bytes,
    budget_request_from_bytes,
    budget_request_to_bytes,
    budget_to_bytes,
    charge_from_bytes,
    document_to_bytes,
    page_request_from_bytes,
    question_from_bytes,
    question_to_bytes,
)
from askew.wire.v1 import popularity_pb2 as pb

TERMS = PayWhatYouGet(
    k_star=100,
    l_star=10,
    epsilon=Fraction(1, 10),
    delta=Fraction(1, 10**9),
    slack=Fraction(1, 10**8),
)
BUDGET = BudgetStatus(TERMS, outputs=30, calls=4)
LOSS = ApproximateDP(Fraction(1), Fraction(1, 10**6), ADD_OR_REMOVE_ONE)
RELEASE = Release(7, "films", "limited-domain", 3, ("Alien", "Brazil"), True, True, LOSS, 10)
DOCUMENT = RELEASE.to_bytes()
QUESTION = TopKQuestion("films", 20, "monday")

PARSERS: dict[str, tuple[Callable[[bytes], object], bytes, object]] = {
    "charge": (charge_from_bytes, pb.GetReleaseRequest(charge=7).SerializeToString(), 7),
    "page request": (
        page_request_from_bytes,
        pb.ListReleasesRequest(dataset="films", after=6).SerializeToString(),
        ("films", 6),
    ),
    "question": (question_from_bytes, question_to_bytes(QUESTION), QUESTION),
    "answer": (
        answer_from_bytes,
        answer_to_bytes(DOCUMENT, BUDGET),
        (RELEASE, DOCUMENT, BUDGET),
    ),
    "budget request": (
        budget_request_from_bytes,
        budget_request_to_bytes("films"),
        "films",
    ),
    "budget": (budget_from_bytes, budget_to_bytes(BUDGET), BUDGET),
}
fuzz = settings(max_examples=200, derandomize=True, database=None, deadline=None)


@pytest.mark.parametrize("name", PARSERS)
def test_a_message_survives_the_round_trip(name: str) -> None:
    parse, data, value = PARSERS[name]
    assert parse(data) == value


words = st.integers(0, 2**32 - 1) | st.integers(0, 200)
digits = st.integers(0, 2**270).map(str) | st.sampled_from(["0", "1", "9" * 155, "9" * 161])
rationals = digits | st.tuples(digits, digits).map("/".join) | st.text(max_size=5)


@given(
    message=st.builds(
        pb.Budget,
        max_outputs=words,
        spent_outputs=words,
        max_questions=words,
        asked_questions=words,
        epsilon=rationals,
        delta=rationals,
        slack=rationals,
        closed=st.booleans(),
    )
)
@fuzz
def test_a_budget_of_any_numbers_parses_or_is_refused(message: pb.Budget) -> None:
    """Planted bug: a rational of 400 digits, which no float holds."""
    with contextlib.suppress(WireError):
        parsed = budget_from_bytes(pb.GetBudgetResponse(budget=message).SerializeToString())
        assert parsed.outputs <= parsed.terms.k_star == message.max_outputs


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (pb.TopKRequest(dataset="films", k=0, key="a"), OutOfRange),
        (pb.TopKRequest(dataset="films", k=1001, key="a"), OutOfRange),
        (pb.TopKRequest(dataset="films", k=2**32 - 1, key="a"), OutOfRange),
        (pb.TopKRequest(dataset="", k=5, key="a"), OutOfRange),
        (pb.TopKRequest(dataset="films\x1b[2J", k=5, key="a"), OutOfRange),
        (pb.TopKRequest(dataset="x" * 501, k=5, key="a"), OutOfRange),
        (pb.TopKRequest(dataset="films", k=5, key=""), OutOfRange),
        (pb.TopKRequest(dataset="films", k=5, key="a b"), OutOfRange),
        (pb.TopKRequest(dataset="films", k=5, key="é"), OutOfRange),
        (pb.TopKRequest(dataset="films", k=5, key="a" * 65), OutOfRange),
    ],
)
def test_a_bad_question_is_refused(message: pb.TopKRequest, kind: type[WireError]) -> None:
    with pytest.raises(kind):
        question_from_bytes(message.SerializeToString())


@pytest.mark.parametrize("charge", [0, 2**63, 2**64 - 1])
def test_a_number_that_is_no_charge_is_refused(charge: int) -> None:
    """SQLite's integers end at 2**63 - 1: a larger one would be an error of its own."""
    with pytest.raises(OutOfRange):
        charge_from_bytes(pb.GetReleaseRequest(charge=charge).SerializeToString())


def test_a_page_after_no_possible_charge_is_refused() -> None:
    with pytest.raises(OutOfRange):
        page_request_from_bytes(pb.ListReleasesRequest(after=2**63).SerializeToString())


def test_a_document_travels_as_the_bytes_that_were_stored() -> None:
    """Planted bug: a release that is written anew for each reader."""
    message = pb.GetReleaseResponse.FromString(document_to_bytes(DOCUMENT))
    assert message.document == DOCUMENT


@pytest.mark.parametrize(
    "message",
    [
        pb.Budget(spent_outputs=101, asked_questions=4),
        pb.Budget(spent_outputs=30, asked_questions=11),
    ],
)
def test_a_budget_that_is_overspent_is_refused(message: pb.Budget) -> None:
    whole = pb.GetBudgetResponse.FromString(budget_to_bytes(BUDGET))
    whole.budget.MergeFrom(message)
    with pytest.raises(OutOfRange):
        budget_from_bytes(whole.SerializeToString())

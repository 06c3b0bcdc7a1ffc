"""Popularity lists and analysts on the wire: bytes to core types and back.

Every `..._from_bytes` raises a WireError for anything but a well-formed message. A stored release
travels as its own bytes, untouched, so that every reader gets the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from askew.dp.analyst import BudgetStatus, PayWhatYouGet, TopKQuestion
from askew.dp.privacy import rational
from askew.dp.release import Release, ReleaseSummary, check_charge, release_from_bytes
from askew.errors import OutOfRange, ParameterError
from askew.limits import check_text
from askew.wire.messages import parse
from askew.wire.v1 import popularity_pb2 as pb

PAGE = 100


def charge_from_bytes(data: bytes) -> int:
    """Return the charge of the release that is asked for. Raises Malformed for other bytes than a
    GetReleaseRequest, and OutOfRange for a charge that is not from 1 to 2**63 - 1, as of no bytes.
    """
    charge = parse(pb.GetReleaseRequest(), data).charge
    check_charge(charge)
    return charge


def document_to_bytes(document: bytes) -> bytes:
    """Return the reply, a GetReleaseResponse, that carries a stored release, untouched."""
    return pb.GetReleaseResponse(document=document).SerializeToString()


def page_request_from_bytes(data: bytes) -> tuple[str, int]:
    """Return (data set, or "" for all, charge to go on after, or 0) of a ListReleasesRequest.
    Raises Malformed for other bytes, and OutOfRange for a name that is no text or a charge beyond
    2**63 - 1.
    """
    message = parse(pb.ListReleasesRequest(), data)
    if message.dataset:
        check_text("the name of a data set", message.dataset)
    if message.after:
        check_charge(message.after)
    return message.dataset, message.after


def page_to_bytes(summaries: Sequence[ReleaseSummary], *, more: bool) -> bytes:
    """Return the reply, a ListReleasesResponse, that carries these rows of the list, in their
    order, and whether there are more.
    """
    rows = [
        pb.ReleaseSummary(
            charge=summary.charge,
            dataset=summary.dataset,
            mechanism=summary.mechanism,
            n_items=summary.n_items,
            epsilon=str(summary.epsilon),
            delta=str(summary.delta),
        )
        for summary in summaries
    ]
    return pb.ListReleasesResponse(releases=rows, more=more).SerializeToString()


def question_to_bytes(question: TopKQuestion) -> bytes:
    """Return the request, a TopKRequest, with dataset, k and key of an analyst's question."""
    return pb.TopKRequest(
        dataset=question.dataset, k=question.k, key=question.key
    ).SerializeToString()


def question_from_bytes(data: bytes) -> TopKQuestion:
    """Return the TopKQuestion, dataset, k and key, of a TopKRequest. Raises Malformed for other
    bytes, and OutOfRange beyond the limits: k from 1 to 1000, a key of 1 to 64 characters.
    """
    message = parse(pb.TopKRequest(), data)
    return TopKQuestion(message.dataset, message.k, message.key)


def answer_to_bytes(document: bytes, budget: BudgetStatus) -> bytes:
    """Return the reply, a TopKResponse, of a stored answer, untouched, and the budget after it."""
    return pb.TopKResponse(document=document, budget=_budget_message(budget)).SerializeToString()


def answer_from_bytes(data: bytes) -> tuple[Release, bytes, BudgetStatus]:
    """Return the release of an answer, its bytes as they were stored, and the budget. Raises
    Malformed for other bytes or a release that is none, and OutOfRange beyond the limits.
    """
    message = parse(pb.TopKResponse(), data)
    release = release_from_bytes(message.document)
    return release, message.document, _budget(message.budget)


def budget_request_to_bytes(dataset: str) -> bytes:
    """Return the request, a GetBudgetRequest, for the budget of this data set."""
    return pb.GetBudgetRequest(dataset=dataset).SerializeToString()


def budget_request_from_bytes(data: bytes) -> str:
    """Return the name of the data set whose budget is asked for. Raises Malformed for other bytes,
    and OutOfRange for a name that is empty or no text of at most 500 characters.
    """
    dataset = parse(pb.GetBudgetRequest(), data).dataset
    check_text("the name of a data set", dataset)
    return dataset


def budget_to_bytes(budget: BudgetStatus) -> bytes:
    """Return the reply, a GetBudgetResponse, that carries a budget: its terms, what is spent, and
    whether it is closed.
    """
    return pb.GetBudgetResponse(budget=_budget_message(budget)).SerializeToString()


def budget_from_bytes(data: bytes) -> BudgetStatus:
    """Return the BudgetStatus, terms, outputs, calls and closed, of a reply. Raises Malformed for
    other bytes, none included, and OutOfRange for terms beyond the limits, or more spent than they
    allow.
    """
    return _budget(parse(pb.GetBudgetResponse(), data).budget)


def _budget_message(budget: BudgetStatus) -> pb.Budget:
    terms = budget.terms
    return pb.Budget(
        max_outputs=terms.k_star,
        spent_outputs=budget.outputs,
        max_questions=terms.l_star,
        asked_questions=budget.calls,
        epsilon=str(terms.epsilon),
        delta=str(terms.delta),
        slack=str(terms.slack),
        closed=budget.closed,
    )


def _budget(message: pb.Budget) -> BudgetStatus:
    try:
        terms = PayWhatYouGet(
            k_star=message.max_outputs,
            l_star=message.max_questions,
            epsilon=rational(message.epsilon),
            delta=rational(message.delta),
            slack=rational(message.slack),
        )
    except ParameterError as error:
        raise OutOfRange(error.name, error.limit) from None
    return BudgetStatus(terms, message.spent_outputs, message.asked_questions, message.closed)

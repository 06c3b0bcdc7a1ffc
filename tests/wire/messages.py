"""Every message that one side sends, by its name: proper bytes, their reader, what they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from wire import metric_world as metric
from wire import taste_world as taste

from askew.catalog.catalog import Neighbors
from askew.catalog.catalog_file import HEAD_BYTES
from askew.dp.analyst import BudgetStatus, PayWhatYouGet, TopKQuestion
from askew.dp.privacy import ADD_OR_REMOVE_ONE, ApproximateDP
from askew.dp.release import Release
from askew.wire import releases
from askew.wire.catalog_file import catalog_from_body, catalog_to_bytes
from askew.wire.places import metric_card_from_bytes, places_from_bytes
from askew.wire.queries import query_from_bytes
from askew.wire.tastes import card_from_bytes, slate_from_bytes
from askew.wire.v1 import popularity_pb2
from askew.wire.v1 import retrieval_pb2 as pb

HOSTILE_TEXTS = {
    "an escape sequence that clears the screen": "\x1b[2J",
    "an escape sequence in eight bits": "\x9b2J",
    "a line break": "Alien\nThe server is fine",
    "a direction override": "Alien \u202efdp.exe",
    "a megabyte": "x" * 2**20,
    "nothing": "",
}
DELTA, SLACK = Fraction(1, 10**9), Fraction(1, 10**8)
TERMS = PayWhatYouGet(k_star=100, l_star=10, epsilon=Fraction(1, 10), delta=DELTA, slack=SLACK)
BUDGET = BudgetStatus(TERMS, outputs=30, calls=4)
LOSS = ApproximateDP(Fraction(1), Fraction(1, 10**6), ADD_OR_REMOVE_ONE)
RELEASE = Release(7, "films", "limited-domain", 3, ("Alien", "Brazil"), True, True, LOSS, 10)
DOCUMENT = RELEASE.to_bytes()
QUESTION = TopKQuestion("films", 20, "monday")
NEIGHBORS = Neighbors(np.full((5, 1), 2, np.uint16), np.full((5, 1), 1, np.uint8), 0.125)


class Sent(NamedTuple):
    """A proper message, how it is read, and what that returns; None where no == compares it."""

    type: type[Any]
    data: bytes
    parse: Callable[[bytes], object]
    value: object = None

    @property
    def message(self) -> Any:
        return self.type.FromString(self.data)


def with_neighbors(n_items: int, neighbors: Neighbors) -> bytes:
    """Return the file of a catalog whose items have neighbors."""
    card, catalog = taste.world(2, n_items)
    catalog = replace(catalog, neighbors=neighbors)
    return catalog_to_bytes(replace(card, catalog_version=catalog.version), catalog)


def of(message: Any, parse: Callable[[bytes], object], value: object) -> Sent:
    return Sent(type(message), message.SerializeToString(), parse, value)


ASK, REPLY, CARD = pb.RetrieveRequest, pb.RetrieveResponse, pb.GetModelCardResponse
CARDS = taste.CARD, metric.MAP_CARD, metric.AXES_CARD
OF_TASTES, OF_PLACE, OF_AXES = (partial(query_from_bytes, card=card) for card in CARDS)
PLACES = partial(places_from_bytes, card=metric.MAP_CARD, query=metric.QUERY)
POSTS = partial(places_from_bytes, card=metric.AXES_CARD, query=metric.AXES_QUERY)
P = popularity_pb2
SENT: dict[str, Sent] = {
    "query": Sent(ASK, taste.REQUEST_BYTES, OF_TASTES, taste.QUERY),
    "place": Sent(ASK, metric.REQUEST_BYTES, OF_PLACE, metric.QUERY),
    "axes": Sent(ASK, metric.AXES_REQUEST_BYTES, OF_AXES, metric.AXES_QUERY),
    "slate": Sent(REPLY, taste.REPLY_BYTES, partial(slate_from_bytes, card=taste.CARD, k=3)),
    "places": Sent(REPLY, metric.REPLY_BYTES, PLACES, (metric.REPLY,)),
    "posts": Sent(REPLY, metric.AXES_REPLY_BYTES, POSTS, (metric.POSTS,)),
    "card": Sent(CARD, taste.CARD_BYTES, card_from_bytes, taste.CARD),
    "map card": Sent(CARD, metric.CARD_BYTES, metric_card_from_bytes, metric.MAP_CARD),
    "axes card": Sent(CARD, metric.AXES_CARD_BYTES, metric_card_from_bytes, metric.AXES_CARD),
    "held": Sent(pb.CatalogFile, taste.BODY, catalog_from_body),
    "neighbors": Sent(pb.CatalogFile, with_neighbors(5, NEIGHBORS)[HEAD_BYTES:], catalog_from_body),
    "charge": of(P.GetReleaseRequest(charge=7), releases.charge_from_bytes, 7),
    "page request": of(
        P.ListReleasesRequest(dataset="films", after=6),
        releases.page_request_from_bytes,
        ("films", 6),
    ),
    "question": Sent(
        P.TopKRequest, releases.question_to_bytes(QUESTION), releases.question_from_bytes, QUESTION
    ),
    "answer": Sent(
        P.TopKResponse,
        releases.answer_to_bytes(DOCUMENT, BUDGET),
        releases.answer_from_bytes,
        (RELEASE, DOCUMENT, BUDGET),
    ),
    "budget request": of(
        P.GetBudgetRequest(dataset="films"), releases.budget_request_from_bytes, "films"
    ),
    "budget": Sent(
        P.GetBudgetResponse, releases.budget_to_bytes(BUDGET), releases.budget_from_bytes, BUDGET
    ),
}

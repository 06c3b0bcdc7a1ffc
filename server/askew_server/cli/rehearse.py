"""Other rules' answers to the questions of a demo, which `askew demo` plays: no command.

For simulated places and made-up people: a row is asked with a position that no device would send.
"""

from __future__ import annotations

import sys
from base64 import b64decode, b64encode

import click
import numpy as np

from askew.errors import NotFound
from askew.protocol.collection import curve_order
from askew.protocol.metric_card import MetricRuleKind, PlaceSlate
from askew.protocol.signal import Query
from askew.wire.places import places_to_bytes
from askew.wire.queries import query_from_bytes
from askew_server.demo.places import places_model
from askew_server.retrieval.answers import MetricAnswers, near_rule_of
from askew_server.retrieval.index import MetricIndex

_HELD = 6_000  # places of 9 bytes each take what a week of 14 questions takes, with 4 kB a reply


def answer(answers: MetricAnswers, way: str, query: Query) -> PlaceSlate:
    """Return the k items of a query that the card has checked, by a way to answer: `served` is what
    the model's server answers, `nearest` the k items nearest to the signal, `held` the k nearest of
    a list that all devices hold. Raises NotFound for another way.
    """
    if way == "served":
        return answers.answer(query)
    if way not in ("nearest", "held"):
        raise NotFound("way to answer")
    asked = answers.model.asked(query)
    rows = np.arange(len(asked))
    if way == "held" and len(asked) > _HELD:  # evenly along a curve, whoever asks
        rows = curve_order(asked.coordinates)[np.arange(_HELD) * len(asked) // _HELD]
    index = MetricIndex(answers.model.card.space, asked.coordinates[rows])
    nearest = near_rule_of(MetricRuleKind.NEAREST, index).choose(query.signal, query.k)
    return PlaceSlate(asked.card.version, asked.listings(np.sort(rows[nearest]).tolist()))


def main() -> None:
    """Answer until standard input ends. A line there is the name of a way and a question as it
    travels, in base64; a line on standard output is the answer as it travels, in base64.
    """
    answers = MetricAnswers(places_model())
    for line in sys.stdin:
        way, question = line.split()
        query = query_from_bytes(b64decode(question, validate=True), answers.model.card)
        slate = answer(answers, way, query)
        click.echo(b64encode(places_to_bytes(slate, answers.model.asked(query).card)))


if __name__ == "__main__":
    main()

"""`askew-server rehearse`: other rules' answers to the questions of a demo, for its table.

A line on standard input is the name of a rule and a question as it travels, in base64; a line on
standard output is the answer as it travels. Hidden, because `askew demo` plays it.
"""

from __future__ import annotations

import sys
from base64 import b64decode, b64encode

import click

from askew.errors import Malformed


@click.command(hidden=True)
def rehearse() -> None:
    """Answer about the simulated places by the rule that each line names, until input ends."""
    from askew.wire.places import places_to_bytes
    from askew.wire.queries import query_from_bytes
    from askew_server.demo.places import places_model
    from askew_server.demo.rehearsal import RehearsedRules

    model = places_model()
    rehearsal = RehearsedRules(model)
    for line in sys.stdin:
        way, question = _parts(line)
        query = query_from_bytes(question, model.card)
        slate = rehearsal.answer(way, query)
        click.echo(b64encode(places_to_bytes(slate, model.asked(query).card)))


def _parts(line: str) -> tuple[str, bytes]:
    try:
        way, question = line.split()
        return way, b64decode(question, validate=True)
    except ValueError:
        raise Malformed("a line must be a way to answer and a question in base64") from None

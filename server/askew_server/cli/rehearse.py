"""Other rules' answers to the questions of a demo, which `askew demo` plays: no command."""

from __future__ import annotations

import sys
from base64 import b64decode, b64encode

import click

from askew.wire.places import places_to_bytes
from askew.wire.queries import query_from_bytes
from askew_server.demo.places import places_model
from askew_server.demo.rehearsal import RehearsedRules


def main() -> None:
    """Answer until standard input ends. A line there is the name of a rule and a question as it
    travels, in base64; a line on standard output is the answer as it travels, in base64.
    """
    model = places_model()
    rehearsal = RehearsedRules(model)
    for line in sys.stdin:
        rule, question = line.split()
        query = query_from_bytes(b64decode(question, validate=True), model.card)
        slate = rehearsal.answer(rule, query)
        reply = places_to_bytes(slate, model.asked(query).card)
        click.echo(b64encode(reply))


if __name__ == "__main__":
    main()

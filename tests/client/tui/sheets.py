"""Style sheets of the app, read once for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet


@pytest.fixture(autouse=True, scope="session")
def sheets_read_once() -> Iterator[None]:
    """Textual reads every style sheet three times for each app that starts, always to the same
    rules for the same variables: here once for all apps.
    """
    read = Stylesheet._parse_rules
    known: dict[object, list[RuleSet]] = {}

    def once(sheet: Stylesheet, *text: object, **options: object) -> list[RuleSet]:
        key = (frozenset(sheet._variables.items()), text, frozenset(options.items()))
        if key not in known:
            known[key] = read(sheet, *text, **options)  # type: ignore[arg-type]
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", once)
        # By identity, as Textual's own, which is asked 10,000 times for a key that is pressed.
        patch.setattr(RuleSet, "__hash__", object.__hash__)
        yield

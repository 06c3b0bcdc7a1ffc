"""A device in a temporary directory, with the small world's twelve films."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from client.tui.person import DeviceWorld
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.notifications import Notification

if TYPE_CHECKING:
    from client.conftest import Pair


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


@pytest.fixture(autouse=True)
def notices_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the app says for a few seconds stays, however long a busy machine takes to read it."""
    monkeypatch.setattr(Notification, "time_left", 3600.0)


@pytest.fixture
def device(pair: Pair, tmp_path: Path) -> DeviceWorld:
    """Nothing rated, nothing spent."""
    return DeviceWorld(pair.card, pair.catalog, tmp_path)


@pytest.fixture
async def rated(device: DeviceWorld) -> DeviceWorld:
    """Three films are rated: a liking for the lower left of the map."""
    await device.rated(film_2=5, film_6=4, film_11=1)
    return device

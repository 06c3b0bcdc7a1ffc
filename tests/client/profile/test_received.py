"""Items that answers brought: kept with the profile, of one space, as many as there is room for."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest

from askew.catalog.item import Item
from askew.errors import ProfileError
from askew_client.profile.document import (
    MAX_RECEIVED,
    PastAnswer,
    ProfileDocument,
    ReceivedItem,
    ReceivedItems,
)
from askew_client.profile.editor import ProfileService
from askew_client.profile.store import ProfileStore

HERE, THERE = "00" * 16, "11" * 16


def received(*titles: str, codes: bytes = b"\x12\x34") -> list[ReceivedItem]:
    return [ReceivedItem(Item(title, 1999, ("Drama",)), codes, 192) for title in titles]


def labels(document: ProfileDocument) -> list[str]:
    return [each.item.label for each in document.received.items]


def test_what_was_met_outlives_the_file(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path / "profile.sqlite")
    store.change(lambda document: document.receiving(HERE, received("Xanadu", "Brazil")))
    assert store.read().received == ReceivedItems(HERE, tuple(received("Xanadu", "Brazil")))


def test_items_of_another_space_take_the_place_of_all_before() -> None:
    document = (
        ProfileDocument().receiving(HERE, received("Xanadu")).receiving(THERE, received("Brazil"))
    )
    assert (labels(document), document.received.space_version) == (["Brazil (1999)"], THERE)


def test_the_newest_are_kept_and_what_is_met_again_is_the_newest() -> None:
    """Planted bug: a profile that grows with every question."""
    first = ProfileDocument().receiving(HERE, received(*(f"Film {n}" for n in range(MAX_RECEIVED))))
    again = first.receiving(HERE, received("Film 0", codes=b"\x56\x78")).receiving(
        HERE, received("Film new")
    )
    assert len(again.received.items) == MAX_RECEIVED
    assert labels(again)[-2:] == ["Film 0 (1999)", "Film new (1999)"]
    assert again.received.items[-2].codes == b"\x56\x78"
    assert "Film 1 (1999)" not in labels(again)


def test_all_of_one_answer_is_kept_however_its_titles_are_written() -> None:
    """Planted bugs: of two titles that differ in case the second alone; the first of very many
    are gone before they are shown.
    """
    many = [f"Film {n}" for n in range(MAX_RECEIVED + 10)]
    document = ProfileDocument().receiving(HERE, received("Xanadu", "xanadu"))
    assert labels(document) == ["Xanadu (1999)", "xanadu (1999)"]
    assert len(document.receiving(HERE, received(*many)).received.items) == len(many)


def test_a_title_that_is_forgotten_for_good_is_not_met_either(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path / "profile.sqlite")
    store.change(lambda document: document.receiving(HERE, received("Xanadu", "Brazil")))
    ProfileService(store).forget(["xanadu (1999)"])
    assert labels(store.read()) == ["Brazil (1999)"]
    assert not any(b"Xanadu" in path.read_bytes() for path in tmp_path.iterdir())


def test_who_forgets_past_answers_keeps_of_what_they_brought_what_is_rated() -> None:
    past = PastAnswer(datetime.date(2026, 11, 21), "2026-11", ("Xanadu (1999)",), "Xanadu (1999)")
    document = ProfileDocument().receiving(HERE, received("Xanadu", "Brazil")).answered(past)
    document = document.edited({"brazil (1999)": (4.0,)}).without_answers()
    assert (labels(document), document.answers) == (["Brazil (1999)"], ())


@pytest.mark.parametrize(
    "item",
    [
        ["Xanadu", 1999, [], "1234"],
        ["Xanadu", 1999, [], "12", 256],
        ["Xanadu", 1999, [], "", 192],
        ["Xanadu", 1999, [], "no codes", 192],
        ["Xanadu", 1999, [], "12" * 129, 192],
        ["\x1b]0;mine\x07", 1999, [], "12", 192],
        ["Xanadu", "then", [], "12", 192],
        None,
    ],
    ids=str,
)
def test_a_damaged_item_is_refused_with_the_profile(item: object) -> None:
    value = json.loads(ProfileDocument().receiving(HERE, received("Brazil")).to_bytes())
    assert ProfileDocument.from_bytes(json.dumps(value).encode()).received.items == tuple(
        received("Brazil")
    )
    value["received"]["items"] = [item]
    with pytest.raises(ProfileError, match="damaged"):
        ProfileDocument.from_bytes(json.dumps(value).encode())

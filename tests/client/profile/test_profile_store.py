"""The profile on the device: what it keeps, and what is left when it is gone."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from askew.catalog.item import Item
from askew.errors import ProfileError
from askew_client.profile import document as documents
from askew_client.profile.document import MAX_RECEIVED, PastAnswer, ProfileDocument, ReceivedItem
from askew_client.profile.store import ProfileService, ProfileStore

CANARY = "Xanadu Canary (1980)"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "profile.sqlite"


def rated(path: Path, **ratings: float) -> ProfileStore:
    """A store with these ratings and, always, the canary."""
    store = ProfileStore(path)
    store.change(lambda document: document.edited({CANARY: (5.0,)}))
    store.change(lambda document: document.edited({k: (v,) for k, v in ratings.items()}))
    return store


def test_what_is_kept_comes_back(path: Path) -> None:
    past = PastAnswer(datetime.date(2026, 11, 21), "2026-11", ("A", "B"), "B")
    store = rated(path, A=2.5)
    store.change(lambda document: document.edited({"B": (None,)}).answered(past))
    document = ProfileStore(path).read()
    assert dict(document.ratings) == {CANARY: 5.0, "A": 2.5, "B": None}
    assert document.answers == (past,)
    assert len(document.edits) == 3


@pytest.mark.parametrize(
    "act",
    [
        lambda store: store.change_for_good(lambda document: document.without(bool)),
        lambda store: store.wipe(),
        lambda store: store.path.unlink() or store.read(),
    ],
    ids=["forgotten", "wiped", "removed"],
)
def test_what_was_read_is_not_kept_in_memory(
    path: Path, act: Callable[[ProfileStore], object]
) -> None:
    """Planted bugs: a forgotten title, or a wiped profile."""
    store = rated(path)
    assert CANARY in store.read().ratings
    act(store)
    assert store._last is None or store._last[1] == ProfileDocument()


def test_a_file_that_lost_what_it_held_is_refused_until_it_is_removed(path: Path) -> None:
    """Planted bug: an emptied file is a new profile, and the person is not told."""
    rated(path)
    path.write_bytes(b"")
    for act in (ProfileStore.read, lambda store: store.change(lambda document: document)):
        with pytest.raises(ProfileError, match=r"is empty, and it was not.*Put a backup") as error:
            act(ProfileStore(path))
        assert CANARY not in str(error.value)
        assert path.read_bytes() == b""
    ProfileStore(path).wipe()
    assert not path.exists()
    assert ProfileStore(path).read() == ProfileDocument()


def test_a_profile_is_never_an_empty_file_of_its_own_making(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever dies before the tables are there leaves no file, and a rival's file stays. Planted
    bug: the file is there before its tables.
    """
    linked = os.link

    def died(*_: object) -> None:
        assert not path.exists()
        raise KeyboardInterrupt

    def late(new: str, real: Path) -> None:
        monkeypatch.setattr(os, "link", linked)
        rated(path)
        linked(new, real)

    monkeypatch.setattr(os, "link", died)
    with pytest.raises(KeyboardInterrupt):
        rated(path)
    assert [*path.parent.iterdir()] == []
    monkeypatch.setattr(os, "link", late)
    ProfileStore(path).change(lambda document: document.edited({"B": (2.0,)}))
    assert ProfileStore(path).read().ratings == {CANARY: 5.0, "B": 2.0}
    assert {each.name for each in path.parent.iterdir()} == {path.name}


def test_a_file_system_without_links_has_a_profile_too(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", unknown)
    assert rated(path).read().ratings == {CANARY: 5.0}
    assert {each.name for each in path.parent.iterdir()} == {path.name}


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"ratings": {"a": "b"}, "edits": [], "answers": []}', b"\xff"]
)
def test_a_damaged_profile_is_refused_and_stays(path: Path, body: bytes) -> None:
    store = rated(path)
    with store._file.transaction() as database:
        database.execute("UPDATE profile SET body = ?", (body,))
    with pytest.raises(ProfileError, match="damaged"):
        rated(path)
    with pytest.raises(ProfileError, match="damaged"):
        ProfileStore(path).change_for_good(lambda document: document.without(bool))
    with ProfileStore(path)._file.transaction() as database:
        assert database.execute("SELECT body FROM profile").fetchone() == (body,)


def test_a_wipe_that_cannot_remove_the_file_says_so(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: an OSError, which no screen expects, ends the app in the middle of a wipe."""
    store = ProfileStore(path)
    store.change(lambda document: document)

    def refused(path: Path, *, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refused)
    with pytest.raises(ProfileError, match="is empty and cannot be removed: Permission denied"):
        store.wipe()


def test_a_profile_has_an_end_and_what_is_beyond_it_changes_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read before each question is bounded. Planted bug: no bound of what one rates."""
    monkeypatch.setattr(documents, "MAX_RATINGS", 10)
    store = rated(path)
    store.change(lambda document: document.edited({f"Film {n}": (3.0,) for n in range(9)}))
    full = store.read()
    with pytest.raises(ProfileError, match="at most 10 ratings"):
        store.change(lambda document: document.edited({"One more": (3.0,)}))
    assert ProfileStore(path).read() == full
    assert len(full.edited({CANARY: (1.0,)}).ratings) == 10


def test_the_edits_that_can_be_undone_have_an_end_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bugs: an import that keeps what it did not change, every week; imports of all that a
    profile holds, two hundred times.
    """
    monkeypatch.setattr(documents, "MAX_RATINGS", 10)
    document = ProfileDocument()
    for week in range(30):
        document = document.edited({f"Film {n}": (float(week if n < 3 else 1),) for n in range(9)})
    assert [len(edit) for edit in document.edits] == [3, 3, 3]
    before, changed = document.undone()
    assert (before.ratings["Film 0"], before.ratings["Film 8"], changed) == (28.0, 1.0, 3)
    emptied = document.edited({f"Film {n}": () for n in range(9)})
    assert [len(edit) for edit in emptied.edits] == [9]
    assert emptied.undone()[0].ratings == document.ratings


HERE, THERE = "00" * 16, "11" * 16


def received(*titles: str, codes: bytes = b"\x12\x34") -> list[ReceivedItem]:
    return [ReceivedItem(Item(title, 1999, ("Drama",)), codes, 192) for title in titles]


def labels(document: ProfileDocument) -> list[str]:
    return [each.item.label for each in document.received.items]


def test_the_newest_items_of_the_newest_space_are_kept_and_all_of_one_answer() -> None:
    """What is met again is the newest. Planted bugs: a profile that grows with every question; of
    two titles that differ in case the second alone.
    """
    many = [f"Film {n}" for n in range(MAX_RECEIVED)]
    first = ProfileDocument().receiving(THERE, received("Brazil")).receiving(HERE, received(*many))
    assert (len(labels(first)), first.received.space_version) == (MAX_RECEIVED, HERE)
    again = first.receiving(HERE, received("Film 0", codes=b"\x56\x78"))
    again = again.receiving(HERE, received("Film new"))
    assert labels(again) == [f"{title} (1999)" for title in [*many[2:], "Film 0", "Film new"]]
    assert again.received.items[-2].codes == b"\x56\x78"
    more = ["Xanadu", "xanadu", *(f"Other {n}" for n in range(MAX_RECEIVED))]
    assert labels(again.receiving(HERE, received(*more))) == [f"{title} (1999)" for title in more]


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
        ["Xanadu", 1999, [], "no codes", 192],
        ["Xanadu", 1999, [], "12" * 129, 192],
        ["\x1b]0;mine\x07", 1999, [], "12", 192],
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

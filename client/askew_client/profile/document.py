"""What is known about a person, as one value: ratings, the edits that made them, past answers,
named places, and the items that answers brought.

Ratings are kept by title, "Alien (1979)", so that they outlive every catalog. A received item that
the device does not hold is kept so that it can be rated: its words, and the codes by which a space
scores it. Another space reads codes in another way, so they go with their space. Nothing fetches an
item again by its number: which ones matter to a person would show in it. A place's handle is random
and stands for its signal in the ledger: what is named again, or moved, has another one. Nothing
here does I/O, and nothing private shows when an object is printed.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from typing import Any, Final

from askew.catalog.item import Item, title_key
from askew.errors import AskewError, PlaceError, ProfileError
from askew.limits import (
    FEW_MARKS,
    MAX_AXES,
    MAX_RANKING_DIMENSION,
    MAX_RATING,
    MAX_TEXT,
    check_text,
    has_few_marks,
    is_visible,
)
from askew.noise.randomness import RandomBits
from askew.spaces.map import Position

MAX_PLACES: Final = 100
_HANDLE_BYTES = 16
_NAME = re.compile(r"[^\W_][\w .'-]{0,39}")


@dataclass(frozen=True)
class PastAnswer:
    """One earlier answer, as it is kept on the device and nowhere else.

    when is a local day; month is of the signal that was sent, "" where none was.
    """

    when: datetime.date = field(repr=False)
    month: str = field(repr=False)
    labels: tuple[str, ...] = field(repr=False)
    picked: str = field(repr=False)


@dataclass(frozen=True)
class AxisValues:
    """Values on axes, by the name of the axis: {"hour": 8.5}. Raises PlaceError."""

    values: Mapping[str, float] = field(repr=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.values) <= MAX_AXES:
            raise PlaceError(f"a place on axes has 1 to {MAX_AXES} values")
        if not all(map(is_visible, self.values)):
            raise PlaceError("an axis needs a name of printable characters")
        if not all(isfinite(value) for value in self.values.values()):
            raise PlaceError("a value on an axis must be a finite number")


Spot = Position | AxisValues


@dataclass(frozen=True)
class NamedPlace:
    """Where it truly is, and the handle of its signal."""

    handle: str = field(repr=False)
    spot: Spot = field(repr=False)

    def __post_init__(self) -> None:
        if re.fullmatch(f"[0-9a-f]{{{2 * _HANDLE_BYTES}}}", self.handle) is None:
            raise PlaceError("the handle of a place is damaged")

    def to_json(self) -> dict[str, Any]:
        """Return the place as the profile's file has it: {"handle": "3f...", "position": [52.5,
        13.4]}, or with "values": {"hour": 8.5}.
        """
        if isinstance(self.spot, Position):
            return {"handle": self.handle, "position": [self.spot.latitude, self.spot.longitude]}
        return {"handle": self.handle, "values": dict(self.spot.values)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> NamedPlace:
        """Return the place that `to_json` wrote. Raises PlaceError, KeyError, TypeError or
        ValueError.
        """
        if "position" in value:
            latitude, longitude = value["position"]
            return cls(value["handle"], Position(float(latitude), float(longitude)))
        values = {str(name): float(number) for name, number in dict(value["values"]).items()}
        return cls(value["handle"], AxisValues(values))


def new_handle(bits: RandomBits) -> str:
    """Return 32 random hexadecimal digits: a name that nobody has used, and that says nothing."""
    return bits.read(_HANDLE_BYTES).hex()


MAX_RECEIVED = 1000
_MOST_BYTES = (MAX_RANKING_DIMENSION + 1) // 2


@dataclass(frozen=True)
class ReceivedItem:
    """One item: its words, its 4-bit codes in its space, and the code of its boost.

    Raises ProfileError for codes that no space has.
    """

    item: Item = field(repr=False)
    codes: bytes = field(repr=False)
    boost: int = field(repr=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.codes) <= _MOST_BYTES or not 0 <= self.boost <= 255:
            raise ProfileError("a stored item has codes that no server uses")


@dataclass(frozen=True)
class ReceivedItems:
    """The items met last, oldest first, and the version of the one space that they are of."""

    space_version: str = ""
    items: tuple[ReceivedItem, ...] = field(default=(), repr=False)

    def joined(self, space_version: str, new: Iterable[ReceivedItem]) -> ReceivedItems:
        """Return these items and then the new ones, in this space; of one label the last alone, as
        the newest. Those of another space are dropped, and the oldest beyond 1000, but no new one.
        """
        before = self.items if space_version == self.space_version else ()
        by_label = {met.item.label: met for met in before}
        latest = {met.item.label: met for met in new}
        for label in latest:
            by_label.pop(label, None)  # what is met again is the newest
        kept = tuple((by_label | latest).values())
        return ReceivedItems(space_version, kept[-max(MAX_RECEIVED, len(latest)) :])

    def only(self, kept: Callable[[str], bool]) -> ReceivedItems:
        """Return those of the items for whose label `kept` is True, in order, in the same space."""
        items = tuple(met for met in self.items if kept(met.item.label))
        return ReceivedItems(self.space_version, items)


Liking = float | None  # None is a like without a number
# What an edit makes of a title: nothing at all, or one liking.
State = tuple[()] | tuple[Liking]

MAX_RATINGS = 100_000
_MAX_EDITS = 200
_MAX_ANSWERS = 200


@dataclass(frozen=True)
class ProfileDocument:
    """One person's profile. edits hold, for each title, its state before the edit; places are by
    the name that the person gave them; met are items that answers brought. unanswered: a spot
    without a name whose signal is charged, until a question with it is answered.
    """

    ratings: Mapping[str, Liking] = field(default_factory=dict, repr=False)
    edits: tuple[Mapping[str, State], ...] = field(default=(), repr=False)
    answers: tuple[PastAnswer, ...] = field(default=(), repr=False)
    places: Mapping[str, NamedPlace] = field(default_factory=dict, repr=False)
    received: ReceivedItems = field(default_factory=ReceivedItems, repr=False)
    unanswered: NamedPlace | None = field(default=None, repr=False)

    def edited(self, changes: Mapping[str, State]) -> ProfileDocument:
        """Return the profile after one edit, which `undone` takes back; this very profile where no
        title changes. changes: by title, (4.5,) for a rating, (None,) for a like, or () to take a
        rating back; they stand last in `ratings`. 200 edits are kept. Raises ProfileError for a bad
        title, a rating beyond 1000 in size or NaN, or more than 100,000 ratings.
        """
        for label, state in changes.items():
            _check(label, state)
        before = {
            label: old
            for label, state in changes.items()
            if (old := (self.ratings[label],) if label in self.ratings else ()) != state
        }
        if not before:
            return self
        ratings = _after(self.ratings, changes)
        if len(ratings) > MAX_RATINGS:
            raise ProfileError(f"a profile holds at most {MAX_RATINGS} ratings")
        return replace(self, ratings=ratings, edits=_latest((*self.edits, before)))

    def undone(self) -> tuple[ProfileDocument, int]:
        """Return the profile before its last edit, with what that brings back last in `ratings`,
        and how many titles that edit changed; this very profile and 0 where there is no edit.
        """
        if not self.edits:
            return self, 0
        last = self.edits[-1]
        ratings = _after(self.ratings, last)
        return replace(self, ratings=ratings, edits=self.edits[:-1]), len(last)

    def answered(self, answer: PastAnswer) -> ProfileDocument:
        """Return the profile with one more past answer, of which the last 200 are kept; this very
        profile if the answer repeats the last one, on whatever day.
        """
        if self.answers and replace(self.answers[-1], when=answer.when) == answer:
            return self
        return replace(self, answers=(*self.answers, answer)[-_MAX_ANSWERS:])

    def without(self, named: Callable[[str], bool]) -> ProfileDocument:
        """Return the profile without any trace of the titles that `named` is True for: ratings,
        edits, answers and received items.

        An edit keeps its other titles, and goes if it has none; an answer with one of them is
        forgotten whole.
        """
        edits = ({k: v for k, v in edit.items() if not named(k)} for edit in self.edits)
        return replace(
            self,
            ratings={label: liking for label, liking in self.ratings.items() if not named(label)},
            edits=tuple(edit for edit in edits if edit),
            answers=tuple(a for a in self.answers if not any(map(named, (*a.labels, a.picked)))),
            received=self.received.only(lambda label: not named(label)),
        )

    def without_answers(self) -> ProfileDocument:
        """Return the profile without past answers and unanswered spots; of the items that answers
        brought, those that are rated stay.
        """
        received = self.received.only(lambda label: title_key(label) in self.rated)
        return replace(self, answers=(), received=received, unanswered=None)

    def with_place(self, name: str, place: NamedPlace) -> ProfileDocument:
        """Return the profile with one more named place, the last. Raises PlaceError as
        `check_new`.
        """
        self.check_new(name)
        return replace(self, places={**self.places, name: place})

    def check_new(self, name: str) -> None:
        """Raise PlaceError for a name that is taken or bad (not 1 to 40 letters, digits, spaces and
        . ' - _, from a letter or a digit on), or where there are 100 places already; else return
        None.
        """
        if _NAME.fullmatch(name) is None:
            limit = "1 to 40 letters, digits, spaces and . ' - _, and begins"
            raise PlaceError(f"the name of a place has {limit} with a letter or a digit")
        if name in self.places:
            raise PlaceError("there is a place of this name already: `askew place move` moves it")
        if len(self.places) >= MAX_PLACES:
            raise PlaceError(f"a profile holds at most {MAX_PLACES} places")

    def without_place(self, name: str) -> ProfileDocument:
        """Return the profile without the place of this name. Raises PlaceError if none has this
        name.
        """
        self.place(name)
        return replace(self, places={k: v for k, v in self.places.items() if k != name})

    def place(self, name: str) -> NamedPlace:
        """Return the place of this name. Raises PlaceError if none has this name."""
        if name not in self.places:
            raise PlaceError("there is no place of this name")
        return self.places[name]

    @cached_property
    def rated(self) -> Mapping[str, str]:
        """Return the rated titles, as they are written, by their `title_key`: {"the matrix (1999)":
        "Matrix, The (1999)"}; of two with one key the later. Computed once, not with every key
        press.
        """
        return {title_key(label): label for label in self.ratings}

    def likings(self) -> dict[str, Liking]:
        """Return the ratings by the `title_key` of their titles, {"alien (1979)": 4.5}; None is a
        like without a number; of two titles with one key the later.
        """
        return {key: self.ratings[label] for key, label in self.rated.items()}

    def receiving(self, space_version: str, items: Sequence[ReceivedItem]) -> ProfileDocument:
        """Return the profile with these items of an answer in this space, as
        `ReceivedItems.joined`.
        """
        return replace(self, received=self.received.joined(space_version, items))

    def to_bytes(self) -> bytes:
        """Return the whole profile as one JSON object in UTF-8: ratings, edits, answers, places,
        received and unanswered.
        """
        answers = [[a.when.isoformat(), a.month, a.labels, a.picked] for a in self.answers]
        places = {name: place.to_json() for name, place in self.places.items()}
        received = [
            [met.item.title, met.item.year, met.item.genres, met.codes.hex(), met.boost]
            for met in self.received.items
        ]
        value = {
            "ratings": dict(self.ratings),
            "edits": self.edits,
            "answers": answers,
            "places": places,
            "received": {"space": self.received.space_version, "items": received},
            "unanswered": self.unanswered and self.unanswered.to_json(),
        }
        return json.dumps(value, ensure_ascii=False, default=dict).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> ProfileDocument:
        """Return the profile that `to_bytes` wrote. Raises ProfileError for anything else."""
        try:
            value = json.loads(data)
            edits = tuple(
                {k: (v[0],) if v else () for k, v in edit.items()} for edit in value["edits"]
            )
            for label, liking in value["ratings"].items():
                _check(label, (liking,))
            answers = tuple(
                PastAnswer(datetime.date.fromisoformat(when), month, tuple(labels), picked)
                for when, month, labels, picked in value["answers"]
            )
            places = {name: NamedPlace.from_json(place) for name, place in value["places"].items()}
            items = tuple(
                ReceivedItem(Item(title, year, tuple(genres)), bytes.fromhex(codes), int(boost))
                for title, year, genres, codes, boost in value["received"]["items"]
            )
            received = ReceivedItems(str(value["received"]["space"]), items)
            waiting = value["unanswered"]
            unanswered = None if waiting is None else NamedPlace.from_json(waiting)
        except (
            AskewError,
            AttributeError,
            KeyError,
            OverflowError,
            RecursionError,
            TypeError,
            ValueError,
        ):
            raise ProfileError("the stored profile is damaged") from None
        return cls(value["ratings"], edits, answers, places, received, unanswered)


def _latest(edits: Sequence[Mapping[str, State]]) -> tuple[Mapping[str, State], ...]:
    # What is read before every question is bounded: so many edits, and no more titles in them than
    # a profile holds.
    kept, titles = 0, 0
    for edit in reversed(edits[-_MAX_EDITS:]):
        titles += len(edit)
        if kept and titles > MAX_RATINGS:
            break
        kept += 1
    return tuple(edits[len(edits) - kept :])


def _check(label: str, state: State) -> None:
    try:
        check_text("a title", label[:MAX_TEXT])
    except AskewError:
        raise ProfileError("a title must be printable text") from None
    if len(label) > MAX_TEXT + len(" (9999)"):
        raise ProfileError(f"a title has at most {MAX_TEXT} characters")
    if not has_few_marks(label):
        raise ProfileError(f"a title must be {FEW_MARKS}")
    for rating in state:
        if rating is not None and not abs(rating) <= MAX_RATING:  # NaN is no number either
            raise ProfileError(f"a rating must be a number, at most {MAX_RATING:g} in size")


def _after(ratings: Mapping[str, Liking], changes: Mapping[str, State]) -> dict[str, Liking]:
    # What was touched last stands at the end.
    kept = {label: liking for label, liking in ratings.items() if label not in changes}
    return kept | {label: state[0] for label, state in changes.items() if state}

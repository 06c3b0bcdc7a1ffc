"""The private pick: by distance and preferences, among those that pass, and said where none
does.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from counted_steps import steps_of
from hypothesis import given, settings, target
from hypothesis import strategies as st

from askew.catalog.item import MAX_HOURS, Attribute, AttributeKind, Listing, Value, title_key
from askew.errors import OutOfRange, PreferenceError
from askew_client.near import pick
from askew_client.near.pick import (
    NO_PREFERENCES,
    Judged,
    Preferences,
    by_other_preferences,
    hours_have,
    is_open,
    judged,
    missing,
    preferences_of,
    stars,
)
from askew_client.views.answers import NearAnswer, NearResult
from askew_client.views.cost import Cost, Leaves

CUISINE = Attribute("cuisine", AttributeKind.CATEGORY)
PRICE = Attribute("price", AttributeKind.NUMBER)
HOURS = Attribute("hours", AttributeKind.HOURS)
OPEN = Attribute("open_now", AttributeKind.FLAG, live=True)
COLUMNS = (CUISINE, PRICE, HOURS)
MONDAY = datetime.datetime(2026, 11, 23, 12)


def listings(*rows: tuple[Value, ...]) -> list[Listing]:
    return [Listing(i, f"Item {i}", (0.0, 0.0), row) for i, row in enumerate(rows)]


def chosen(
    rows: Sequence[tuple[Value, ...]],
    distances: Sequence[float],
    preferences: Preferences = NO_PREFERENCES,
    columns: Sequence[Attribute] = COLUMNS,
    stars: Mapping[str, float] = MappingProxyType({}),
) -> tuple[Judged, ...]:
    return judged(listings(*rows), columns, distances, preferences, stars, MONDAY)


def order(*arguments: object, **named: object) -> list[int]:
    return [each.index for each in chosen(*arguments, **named)]  # type: ignore[arg-type]


PLAIN = [("thai", 10.0, "24/7")] * 3


def test_without_preferences_the_nearest_is_best_and_a_tie_goes_to_the_lower_id() -> None:
    for exponent in (0.5, 1.0, 2.0):
        assert order(PLAIN, (3.0, 1.0, 2.0), Preferences(exponent=exponent)) == [1, 2, 0]
    assert order(PLAIN, (2.0, 2.0, 2.0)) == [0, 1, 2]


@pytest.mark.parametrize(("worth", "best"), [(0.9, 1), (1.1, 0), (-5.0, 1)])
def test_a_liked_kind_weighs_as_much_as_its_kilometers(worth: float, best: int) -> None:
    """Item 0 is italian, and one kilometer farther."""
    rows = [("italian", 1.0, "24/7"), ("thai", 1.0, "24/7")]
    preferences = Preferences(likes={"cuisine": {"italian": worth}})
    assert order(rows, (3.0, 2.0), preferences)[0] == best


def test_a_like_counts_by_the_disutility() -> None:
    """h(t) = t^2: 10 km and a like of 4 are 100 - 16; 9.1 km are 82.8, and nearer by cost."""
    rows = [("italian", 1.0, "24/7"), ("thai", 1.0, "24/7")]
    likes = {"cuisine": {"italian": 4.0}}
    assert order(rows, (10.0, 9.1), Preferences(likes=likes)) == [0, 1]
    assert order(rows, (10.0, 9.1), Preferences(likes=likes, exponent=2.0)) == [1, 0]
    assert [each.cost for each in chosen(rows, (10.0, 9.0), Preferences(likes, exponent=2.0))] == [
        81.0,
        84.0,
    ]


DEALS = [("a", 12.0, "x"), ("a", 10.0, "x"), ("a", None, "x")]
IN_EUR = (CUISINE, replace(PRICE, unit="EUR"), HOURS)


@pytest.mark.parametrize(
    ("exponent", "columns", "unit"), [(0.5, IN_EUR, "eur"), (2.0, COLUMNS, "Price")]
)
def test_a_trade_makes_kilometers_of_a_number_in_its_unit(
    exponent: float, columns: Sequence[Attribute], unit: str
) -> None:
    """Item 1 costs 2 less than item 0, and is as good 4 km farther at 2 km each; an unknown price
    counts as the highest of the answer. Planted bugs: the disutility of each part by itself, so
    that a price weighs by what it is and not by how much more it is; an unknown price of nothing.
    """
    trades = Preferences(trades={unit: 2.0}, exponent=exponent)
    assert order(DEALS, (1.0, 4.9, 1.2), trades, columns) == [1, 0, 2]
    assert order(DEALS, (1.0, 5.1, 0.8), trades, columns) == [2, 0, 1]
    assert order(DEALS, (1.0, 4.9, 1.2), Preferences(exponent=exponent), columns) == [0, 2, 1]


def test_a_trade_is_of_the_units_that_it_names_alone() -> None:
    columns = (CUISINE, replace(PRICE, unit="kW"), HOURS)
    trades = Preferences(trades={"EUR": 2.0})
    assert order(DEALS, (1.0, 4.9, 1.2), trades, columns) == [0, 2, 1]
    assert missing(columns, trades) == ("a number in eur",)
    assert missing(IN_EUR, trades) == ()


def test_own_ratings_count_by_the_star_above_three() -> None:
    """A like is five stars. Planted bug: a rating that hides its item, as among films."""
    own = {"item 0": stars(None), "item 2": 1.0}
    assert order(PLAIN, (4.0, 2.5, 2.0), Preferences(ratings=1.0), stars=own) == [0, 1, 2]
    assert order(PLAIN, (4.0, 2.5, 2.0), NO_PREFERENCES, stars=own) == [2, 1, 0]


FILTERS: dict[str, tuple[Preferences, list[tuple[Value, ...]]]] = {
    "price": (Preferences(at_most={"price": 10.0}), [("a", 10.0, "x"), ("a", 10.1, "x")]),
    "a price that is unknown": (
        Preferences(at_most={"price": 10.0}),
        [("a", 3.0, "x"), ("a", None, "x")],
    ),
    "kind in other letters": (
        Preferences(only={"cuisine": frozenset({"THAI"})}),
        [("Thai", 1.0, "x"), ("b", 1.0, "x")],
    ),
    "open now": (
        Preferences(open_now=True),
        [("a", 1.0, "Mo 11:00-13:00"), ("a", 1.0, "Tu 11:00-13:00")],
    ),
    "hours that cannot be read": (
        Preferences(open_now=True),
        [("a", 1.0, "24/7"), ("a", 1.0, "dawn")],
    ),
}


@pytest.mark.parametrize("name", FILTERS)
def test_what_does_not_pass_stands_behind_what_does(name: str) -> None:
    """However near it is. Planted bug: a filter that only sorts."""
    preferences, rows = FILTERS[name]
    assert [(each.index, each.passes) for each in chosen(rows, (50.0, 0.1), preferences)] == [
        (0, True),
        (1, False),
    ]


def test_a_flag_is_preferred_as_it_is_shown() -> None:
    """By yes and no. Planted bug: the flag's own name of a value, True."""
    columns = (Attribute("terrace", AttributeKind.FLAG),)
    rows: list[tuple[Value, ...]] = [(False,), (True,), (None,)]
    only = chosen(rows, (1.0, 2.0, 3.0), Preferences(only={"terrace": frozenset({"yes"})}), columns)
    assert [each.index for each in only if each.passes] == [1]
    liked = Preferences({"terrace": {"yes": 1.5}})
    assert [each.index for each in chosen(rows, (1.0, 2.0, 3.0), liked, columns)] == [1, 0, 2]


def test_a_number_is_a_kind_as_it_is_typed() -> None:
    """Planted bug: 10.0, which nobody types."""
    columns = (Attribute("seats", AttributeKind.NUMBER),)
    rows: list[tuple[Value, ...]] = [(8.5,), (10.0,), (None,), (7.0,), (1.0,)]
    wanted = preferences_of("seats = 10 | 8.5 | 7.0")
    passing = chosen(rows, (1.0, 2.0, 3.0, 4.0, 5.0), wanted, columns)
    assert [each.index for each in passing if each.passes] == [0, 1, 3]


def test_hours_are_judged_for_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long hours take to read is a server's choice. Planted bug: hours are read only for who
    wishes to know, which a server hears in the time.
    """
    read: list[str] = []
    monkeypatch.setattr(pick, "is_open", lambda hours, _: read.append(hours))
    for preferences in (NO_PREFERENCES, Preferences(open_now=True)):
        chosen(PLAIN, (1.0, 2.0, 3.0), preferences)
    assert len(read) == 2 * len(PLAIN)


def test_a_live_flag_beats_the_hours() -> None:
    columns = (HOURS, OPEN)
    rows: list[tuple[Value, ...]] = [("24/7", False), ("off", True), ("24/7", None)]
    found = chosen(rows, (1.0, 2.0, 3.0), Preferences(open_now=True), columns)
    assert [(each.index, each.passes) for each in found] == [(1, True), (2, True), (0, False)]


def test_a_result_says_whether_it_is_open_now() -> None:
    """By hours that can be read, and no flag: the flag says it."""
    rows = (("24/7", None), ("off", None), ("at noon", None), (None, None), ("24/7", False))
    said = [hours_have((HOURS, OPEN), values, MONDAY) for values in rows]
    assert said == [True, False, None, None, None]


def answer_of(*results: NearResult) -> NearAnswer:
    cost = Cost(Leaves.KEPT)
    return NearAnswer("food", "made up", True, 2, results, False, (), (0.0, 0.0), cost)


def test_in_another_order_every_result_keeps_what_is_its_own() -> None:
    """Planted bug: the title and the price of the result that had the rank before."""
    near = NearResult(1, "Near", (1.0, 2.0), {"cuisine": "thai", "price": 9.0}, 1.0, True, True)
    far = NearResult(2, "Far", (3.0, 4.0), {"cuisine": "greek", "price": 5.0}, 2.0, True, False)
    greek = Preferences(only={"cuisine": frozenset({"greek"})})
    again = by_other_preferences(answer_of(near, far), (CUISINE, PRICE), greek, (), MONDAY)
    assert again.results == (
        replace(far, rank=1, picked=True),
        replace(near, rank=2, picked=False, passes=False),
    )


def test_in_another_order_an_hour_later_a_result_says_what_is_open_then() -> None:
    """Planted bug: it passes by this clock, and is open by that of the answer."""
    cafe = NearResult(1, "Café", (1.0, 2.0), {"hours": "Mo 08:00-12:00"}, 1.0, True, True, True)
    noon, wish = MONDAY.replace(hour=13), Preferences(open_now=True)
    again = by_other_preferences(answer_of(cafe), (HOURS,), wish, (), noon)
    assert again.results == (replace(cafe, passes=False, picked=False, is_open=False),)


def test_a_wish_for_what_a_collection_lacks_lets_nothing_pass_and_is_named() -> None:
    preferences = Preferences({"view": {"sea": 3.0}}, at_most={"fee": 3.0}, open_now=True)
    assert missing((CUISINE, PRICE), preferences) == ("fee", "view", "opening hours")
    assert missing(COLUMNS, preferences) == ("fee", "view")
    assert missing((OPEN,), Preferences(open_now=True)) == ()
    assert missing(COLUMNS, Preferences(at_most={"cuisine": 3.0})) == ("cuisine as a number",)
    rows = [("a", 1.0), ("b", 2.0)]
    assert not any(e.passes for e in chosen(rows, (1.0, 2.0), preferences, (CUISINE, PRICE)))


def test_the_nearest_to_an_unknown_attribute_or_kind_is_said() -> None:
    """In any case, as preferences are. Planted bug: kinds of a card that lists none are all
    unknown.
    """
    cuisine = replace(CUISINE, words=("Turkish", "Vietnamese"))
    preferences = Preferences(
        only={"cuisine": frozenset({"TURKISH", "vietnamse"})}, at_most={"prize": 9.0}
    )
    assert missing((cuisine, PRICE), preferences) == (
        "prize (perhaps price)",
        "cuisine vietnamse (perhaps Vietnamese)",
    )
    assert missing((CUISINE, PRICE), replace(preferences, at_most={})) == ()


OPENED = {
    "24/7": (True, True, True),
    "Mo-Fr 08:00-18:00; Sa 09:00-13:00": (True, False, True),
    "Mo-Fr 08:00-12:00,13:00-18:00": (False, False, False),
    "08:00-18:00": (True, False, True),
    "Mo 22:00-02:00": (False, True, False),
    "Su 22:00-13:00": (True, False, False),
    "08:00-18:00; Mo off": (False, False, True),
    "Mo-Su 10:00-24:00": (True, False, True),
    "Sa-Mo 11:00-13:00": (True, False, True),
    "mo,sa 11:30 - 12:30": (True, False, True),
    "Tu 00:00-02:00": (False, True, False),
    "off": (False, False, False),
    "Mo 11:30-13:00, Sa,Mo 14:00-15:00": (True, False, False),
    "Mo 09:00-11:00; Mo 12:00-13:00, Tu off": (True, False, False),
    "Mo 18:00-26:00": (False, True, False),
    "24:00-25:00, Mo 24:00-26:00": (False, True, False),
    "08:00-18:00; Mo 12:00-13:00 off": (False, False, True),
    "Mo,Sa 08:00-18:00, Sa 12:00-12:30 off": (True, False, False),
    "10:00-11:00 closed": (False, False, False),
    "Mo 20:00-04:00; Tu 01:00-02:00 off": (False, False, False),
}
WHEN = (MONDAY, datetime.datetime(2026, 11, 24, 1, 30), datetime.datetime(2026, 11, 28, 12, 15))


@pytest.mark.parametrize("hours", OPENED)
def test_hours_are_read_by_the_devices_clock(hours: str) -> None:
    """Monday noon, the night after it, and Saturday a quarter past noon. Planted bugs: a rule
    behind a comma replaces what its days had; times that are off close the whole day.
    """
    assert tuple(is_open(hours, when) for when in WHEN) == OPENED[hours]


def test_hours_that_cannot_be_read_are_unknown() -> None:
    late = ("Mo 25:00-26:00", "Mo 18:00-48:01")
    for hours in ("dawn-dusk", "Mo 8-18", "Xx 08:00-18:00", "Mo-Tu-We 1:00-2:00", *late):
        assert is_open(hours, MONDAY) is None, hours
    assert not is_open("", MONDAY)


def test_preferences_read_the_same_on_lines_and_between_commas() -> None:
    """Planted bugs: a comma or a # in a quoted name parts it; a comment is a preference."""
    lines = ["open", "cuisine = italian | Thai", "price <= 25", "cuisine: italian +3 km"]
    lines += ["cuisine: thai -1.5", "1 EUR = 2 km", "1 km/h = -0.5", "stars +2", "exponent 0.5"]
    lines += ['cuisine: "fish, chips #1" +1']
    wanted = Preferences(
        {"cuisine": {"italian": 3.0, "thai": -1.5, "fish, chips #1": 1.0}},
        {"cuisine": frozenset({"italian", "thai"})},
        {"price": 25.0},
        open_now=True,
        ratings=2.0,
        exponent=0.5,
        trades={"eur": 2.0, "km/h": -0.5},
    )
    assert preferences_of(", ".join(lines)) == wanted
    assert preferences_of("# mine\n" + "  # a filter\n".join(lines)) == wanted
    assert preferences_of(" open now ,") == Preferences(open_now=True)
    assert preferences_of("") == preferences_of(" \n# open\n") == NO_PREFERENCES


NONE = "secret; secret <= ten; secret = ; secret < 3 < 4; secret >= 3; secret > 3; =; secret: 3"
NONE += '; secret: a b; price <= inf; exponent 0; exponent nan; stars secret; secret = "a, b'
TOO_LARGE = "1 secret = {} km; stars +{}; secret: thai -{}; secret <= {}".format(*[10**400] * 4)


@pytest.mark.parametrize("text", [*NONE.split("; "), *TOO_LARGE.split("; "), f"stars +{10**13}"])
def test_what_are_no_preferences_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(PreferenceError) as refusal:
        preferences_of(text)
    assert "secret" not in str(refusal.value)


def test_the_strongest_preferences_still_make_an_order() -> None:
    """Planted bug: a worth that overflows to the fourth power, when the question has been sent."""
    likes = {"cuisine": {"italian": 1e12, "thai": -1e12}}
    preferences = Preferences(likes, ratings=1e12, exponent=4.0, trades={"price": 1e12})
    rows = [("thai", 1e300, None), ("italian", 1.0, None)]
    assert order(rows, (1.0, 2e4), preferences, stars={"item 0": 1000.0, "item 1": 1000.0}) == [
        1,
        0,
    ]


@pytest.mark.parametrize(
    "preferences",
    [
        *({"only": {"cuisine": "thai"}}, {"only": {"cuisine": {1}}}, {"only": "thai"}),
        *({"likes": {"cuisine": 3}}, {"at_most": {"price": "x"}}, {"open_now": "no"}),
        *({"trades": {"EUR": "2"}}, {"ratings": "x"}, {"exponent": None}),
    ],
)
def test_a_program_whose_preferences_have_a_wrong_type_hears_so_at_once(
    preferences: dict[str, Any],
) -> None:
    """And not after the question. Planted bug: a word in place of kinds, of which parts pass."""
    with pytest.raises(PreferenceError):
        Preferences(**preferences)


KINDS = (AttributeKind.CATEGORY, AttributeKind.NUMBER, AttributeKind.FLAG, AttributeKind.HOURS)
SIXTEEN = (OPEN, *(Attribute(f"a{n}", KINDS[n % 4]) for n in range(15)))
DEAR: dict[AttributeKind, tuple[Value, ...]] = {
    AttributeKind.CATEGORY: ("\ufb03" * 500, "clinic", None),
    AttributeKind.NUMBER: (1e300, -0.0, None),
    AttributeKind.FLAG: (True, False, None),
    AttributeKind.HOURS: ("0:00-0:00," * 19 + "0:00-0:01", "Mo" + " " * 197 + "x", None),
}
DEAR_TITLES = ("\ufdfa" * 500, ("a" + "\u0316\u0301" * 4) * 55, "Clinic, The (1995)")
DEAR_LISTINGS = [
    Listing(i, title, (0.0, 0.0), tuple([DEAR[each.kind][turn] for each in SIXTEEN]))
    for i, (title, turn) in enumerate((title, turn) for title in DEAR_TITLES for turn in range(3))
]
ALL_LIKED = {each.name: {"clinic": 3.0, "yes": -1.0, "\ufb03" * 500: 1.0} for each in SIXTEEN}
WISHED = {
    "nothing": NO_PREFERENCES,
    "what is open now": Preferences(open_now=True),
    "a kind": Preferences(only={"a0": frozenset({"clinic"})}),
    "a kind of nothing": Preferences(only={"a0": frozenset()}),
    "a kind of what is not there": Preferences(only={"view": frozenset({"sea"})}),
    "a limit": Preferences(at_most={"a1": 0.0}),
    "a limit of what is no number": Preferences(at_most={"a0": 0.0}),
    "likes": Preferences(ALL_LIKED),
    "likes of what is not there": Preferences({"view": {"sea": 1.0}}),
    "own ratings": Preferences(ratings=2.0),
    "trades": Preferences(trades={"a1": 2.0, "a5": -1.0}),
    "another disutility": Preferences(exponent=0.5),
    "everything": Preferences(
        ALL_LIKED,
        {each.name: frozenset({"clinic", "yes"}) for each in SIXTEEN},
        {each.name: 7.0 for each in SIXTEEN},
        open_now=True,
        ratings=1.0,
        exponent=2.0,
        trades={each.name: 1.0 for each in SIXTEEN},
    ),
}
OWN = {"nothing": {}, "every title": {title_key(each): 1.0 for each in DEAR_TITLES}}


@pytest.mark.thin(6)
@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("name", WISHED)
def test_judging_takes_the_same_steps_whatever_the_preferences(name: str, own: str) -> None:
    """To the last instruction, over items that a server made dear to judge. Planted bugs: hours
    read only where `open_now` is set; an early exit where no filter is; a title's key made only
    where something is rated; filters judged until one fails.
    """
    distances = [float(n) for n in range(len(DEAR_LISTINGS))]

    def steps(preferences: Preferences, stars: Mapping[str, float]) -> int:
        def judge() -> tuple[Judged, ...]:
            return judged(DEAR_LISTINGS, SIXTEEN, distances, preferences, stars, MONDAY)

        return steps_of(judge, re.Pattern, re.Match)

    assert steps(WISHED[name], OWN[own]) == steps(NO_PREFERENCES, {})


def hours_of(text: str) -> int:
    """The one pattern begins only behind a time, and goes over the blanks there once."""
    return steps_of(lambda: is_open(text, MONDAY), re.Pattern)


@settings(max_examples=500, deadline=None)
@given(st.text(" ,-:;0124mouedfclMS/", max_size=MAX_HOURS))
def test_hours_take_steps_in_proportion_to_their_length(text: str) -> None:
    """A search for the dearest ones, by steps a character. Planted bug: a rule as a pattern that
    tries every cut between days and times.
    """
    steps = hours_of(text)
    target(steps / (1 + len(text)))
    assert steps <= 600 + 50 * len(text)


DEAREST_HOURS = {
    "rules": "off;", "spans": "0:00-0:00,", "days": "mo,", "weeks": "su-sa,", "blanks": " ",
    "dashes": "-", "rules without days": "0:00-0:00;", "spans that end": "mo 0:00-0:00,",
    "blanks behind a time": "0:00-0:00   ,   ", "rules behind commas": "0:00-0:00 off, off, ",
}  # fmt: skip


@pytest.mark.parametrize("name", DEAREST_HOURS)
def test_twice_the_hours_take_at_most_twice_the_steps(name: str) -> None:
    part = DEAREST_HOURS[name]
    short, long = [part * (size // len(part)) + "mo 0:00-1:00" for size in (90, 180)]
    assert hours_of(long) <= 2.2 * hours_of(short)


def test_hours_are_at_most_200_characters() -> None:
    HOURS.check("x" * MAX_HOURS)
    with pytest.raises(OutOfRange, match="printable text of 1 to 200 characters"):
        HOURS.check("x" * (MAX_HOURS + 1))

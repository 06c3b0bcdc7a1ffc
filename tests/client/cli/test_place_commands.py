"""`askew place` and `askew near`: nothing private is an argument, and each refusal has its code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from client.conftest import Askew, Outcome
from end_to_end.eavesdropping import serving
from end_to_end.eavesdropping_near import HostileMap
from every_command import every_command
from small_map import DAY, GERMANY, made_card

from askew.spaces.map import MapSpace
from askew_client.cli import main as cli
from askew_client.signals.account import Entry

HOME = b"52.52, 13.405\n"
PRIVATE = ("52.52", "13.405")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(HostileMap(made_card(MapSpace(GERMANY)))) as address:
        yield address


@pytest.fixture(scope="module")
def address_of_hours() -> Iterator[str]:
    with serving(HostileMap(made_card(DAY))) as address:
        yield address


@pytest.fixture
def place(askew: Askew, data: Path) -> Callable[..., Outcome]:

    def run(*arguments: str | Path, stdin: bytes = b"") -> Outcome:
        return askew("place", *arguments, "--data", data, stdin=stdin)

    return run


Place = Callable[..., "Outcome"]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A terminal at which somebody types, and says yes; `yes` is what is answered, `asked` what
    was asked.
    """
    here = SimpleNamespace(isatty=lambda: True)
    typed = SimpleNamespace(stdin=here, stderr=here, yes=True, asked=[])

    def confirm(question: str, *, abort: bool, err: bool) -> None:
        typed.asked.append(question)
        if not typed.yes:
            raise click.Abort

    monkeypatch.setattr("askew_client.cli.options.sys", typed)
    monkeypatch.setattr("askew_client.cli.options.click.confirm", confirm)
    return typed


def test_a_place_is_added_listed_moved_and_forgotten(place: Place) -> None:
    assert "no place is named yet" in place("list").err
    added = place("add", "home", "--region", "DE", stdin=HOME)
    assert (added.code, added.out) == (0, "")
    price, spent, allowed, done, sum_, kept = added.err.splitlines()
    assert "At level town the caps allow 15 positions for life and 5 a month" in allowed
    assert "Level county costs 0.25 of it" in allowed
    assert "epsilon 0.277 per km" in price
    assert "10 km apart: odds change at most 16 times" in price
    assert spent == "all places together: 0 of 4.2 per km spent"
    assert "drawn and charged" in done
    assert sum_ == "spent on places: 0.277 of 4.2 per km"
    assert kept.startswith("the region DE is kept in ")

    listed = place("list").out.splitlines()
    assert listed[0] == "home: latitude 52.52, longitude 13.405"
    assert listed[1].startswith("  every server gets latitude ")
    assert listed[2] == "  5 km apart: odds change at most 4 times"

    moved = place("move", "home", "--region", "DE", "--level", "county", stdin=b"48.1 11.6")
    assert moved.code == 0
    assert "home has moved, and its noisy position" in moved.err
    (one,) = json.loads(place("list", "--json").out)
    assert one["true"] == [48.1, 11.6]
    assert 0.069 < one["epsilon_per_km"] <= 0.0693

    assert place("forget", "home", stdin=b"y\n").code == 0
    assert place("list").out == ""
    unknown = place("forget", "home")
    assert unknown.code == 1
    assert "Forget this place?" not in unknown.err + unknown.out


def test_a_town_is_a_position_and_the_region_is_kept(place: Place) -> None:
    """On the device, of its own table. Planted bug: a region that the next place has to repeat."""
    assert place("add", "home", "--region", "DE", stdin=b"berlin\n").code == 0
    assert place("add", "work", stdin="KÖLN".encode()).code == 0
    assert place("add", "far", "--region", "GB", stdin=b"London").code == 0
    assert place("add", "lake", stdin=b"Konstanz, DE").code == 0
    found = {each["name"]: each["true"] for each in json.loads(place("list", "--json").out)}
    assert found == {"home": [52.52, 13.41], "work": [50.93, 6.95], "far": [51.51, -0.13]} | {
        "lake": [47.66, 9.18]
    }


def test_a_town_may_follow_the_name_and_degrees_may_not(place: Place, data: Path) -> None:
    """A town on a command line is what most people type; a house is nobody else's business."""
    assert place("add", "home", "Bad", "Homburg", "vor", "der", "Höhe", "--region", "DE").code == 0
    assert place("move", "home", "Frankfurt,", "Hesse").code == 0
    (home,) = json.loads(place("list", "--json").out)
    assert home["true"] == [50.12, 8.68]
    for typed in (("48.86,", "2.35"), ("hour", "=", "8.5")):
        refused = place("add", "work", *typed)
        assert (refused.code, "prompt or standard input" in refused.err) == (2, True)
        assert not any(each in refused.err for each in ("48", "2.35", "8.5"))


@pytest.mark.usefixtures("terminal")
def test_a_terminal_lists_towns_and_asks_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = ["Neustadt", "Neustadt in Holstein"]
    monkeypatch.setattr("askew_client.cli.options.click.prompt", lambda *_, **__: answers.pop(0))
    found = place("add", "home", "Frankfurt", "--region", "DE")
    assert found.code == 0
    for line in ("Frankfurt am Main, Hesse: ", "Neustadt in Holstein, Schleswig-Holstein: "):
        assert f"  {line}" in found.err
    assert "this is in or near Neustadt in Holstein, Germany\n" in found.err
    answers.append("54.2, 13.9")
    assert (
        "35 km from Universitäts- und Hansestadt Greifswald, Germany\n" in place("add", "boat").err
    )
    quiet = SimpleNamespace(isatty=lambda: False)  # such as a file of messages
    monkeypatch.setattr("askew_client.cli.options.sys.stderr", quiet)
    answers.append("54.2, 13.8")
    assert "Greifswald" not in place("add", "ship").err
    assert json.loads(place("list", "--json").out)[0]["true"] == [54.11, 10.81]


def test_a_terminal_asks_before_it_charges_a_position(
    place: Place,
    askew: Askew,
    data: Path,
    terminal: SimpleNamespace,
    charges: Callable[[], tuple[Entry, ...]],
) -> None:
    """Planted bug: it is drawn whatever the answer is."""
    terminal.yes = False
    refused = place("add", "home", "Berlin", "--region", "DE")
    assert refused.code == 130
    assert "epsilon 0.277 per km" in refused.err  # what it would charge stands before
    assert charges() == ()
    terminal.yes = True
    for command in ("add", "move"):
        assert place(command, "home", "Berlin", "--anew", "--region", "DE").code == 0
    second = place("add", "flat", "Berlin")  # no price is said of what is not drawn
    assert (second.code, "epsilon" in second.err) == (1, False)
    assert "home is at this very position\n" in second.err
    assert {*re.findall("--take|--anew", second.err)} == {"--take", "--anew"}
    taken = place("add", "flat", "Berlin", "--take")
    assert (taken.code, taken.out) == (0, "")
    assert "flat is kept: one more name of this place, and nothing is charged" in taken.err
    home, flat = json.loads(place("list", "--json").out)
    assert home["sent"] == flat["sent"]
    assert "home and flat: one noisy position" in askew("budget", "--data", data).out
    assert len(charges()) == 2
    assert terminal.asked == 3 * ["Draw and charge this noisy position?"]


UNCLEAR = {
    "two towns": ("Frankfurt", "there are 2", ["Frankfurt am Main, Hesse: 50.12, 8.68"]),
    "outside": ("Paris", "lies in the region Germany (DE)", ["Paris, Ile-de-France: 48.85"]),
}


@pytest.mark.parametrize("case", UNCLEAR)
def test_what_an_unclear_town_may_mean_is_listed_and_nothing_is_drawn(
    place: Place, data: Path, case: str
) -> None:
    """The message itself repeats nothing, as it may be logged: the list stands before it."""
    typed, reason, choices = UNCLEAR[case]
    found = place("add", "home", "--region", "DE", stdin=typed.encode())
    *listed, message = found.err.splitlines()
    assert found.code == 1
    assert reason in message
    assert not any(each in message + found.out for each in ("erli", "rankf", "aris"))
    for choice in choices:
        assert any(line.startswith(f"  {choice}") for line in listed)
    assert not (data / "signals.sqlite").exists()


def test_a_region_of_ones_own_edges_is_told_to_show_and_countries_are_proposed(
    place: Place,
) -> None:
    found = place("add", "home", "--region", "52/13/53/14", stdin=HOME).err
    assert "these edges are your own, and every signal shows them" in found
    assert "are those of many: --region DE" in found
    assert "your own" not in place("add", "work", "--region", "DE", stdin=HOME).err


@pytest.mark.usefixtures("terminal")
def test_the_region_is_asked_for_before_the_position(
    askew: Askew, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The country of a town is proposed. Planted bug: it is missed when the position has been
    typed, in vain.
    """
    asked: list[tuple[str, object]] = []

    def typed(text: str, *, default: object = None, **_: object) -> object:
        asked.append((text.split(maxsplit=1)[0].strip(":,"), default))
        return "AT" if text.startswith("Region") else "Graz"

    monkeypatch.setattr("askew_client.cli.options.click.prompt", typed)
    for town in (["Wien"], [], []):
        name = f"place{len(asked)}"
        assert askew("place", "add", name, *town, "--anew", "--data", data).code == 0
    assert asked == [("Region", "AT"), ("Town", None), ("Town", None)]


def test_a_name_is_refused_before_a_position_is_typed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is read, and no price is said. Planted bug: the price of a place that is there."""
    place("add", "home", "--region", "DE", stdin=HOME)

    def read(*_: object) -> None:
        raise AssertionError("a position was read")

    monkeypatch.setattr("askew_client.cli.options.typed_place", read)
    taken, unknown = place("add", "home"), place("move", "work")
    assert (taken.code, len(taken.err.splitlines())) == (1, 1)
    assert "a place of this name already" in taken.err
    assert (unknown.code, len(unknown.err.splitlines())) == (1, 1)
    assert "no place of this name" in unknown.err


def test_what_a_server_has_is_listed_before_one_types(askew: Askew, address: str) -> None:
    found = askew("near", "--server", address)
    assert (found.code, found.err) == (0, "")
    assert "places: " in found.out
    assert "  price: number in EUR" in found.out
    as_json = json.loads(askew("near", "--server", address, "--json").out)
    assert {each["name"] for each in as_json} == {"places", "shops"}


def test_what_a_collection_does_not_have_is_said_with_the_nearest_that_it_has(
    askew: Askew, place: Place, address: str, data: Path, tmp_path: Path
) -> None:
    place("add", "home", "--region", "DE", stdin=HOME)
    near = ("--server", address, "--data", data)
    assert "(perhaps places)" in askew("near", "place", *near).err
    preferences = tmp_path / "preferences.txt"
    preferences.write_text("price <= -1\nprise <= 10\n")
    found = askew("near", "places", *near, "--preferences", preferences)
    assert found.code == 0
    assert "this collection does not have: prise (perhaps price)" in found.out
    assert "no result passes your filters; the server is not asked again" in found.out
    assert {line[0] for line in found.out.splitlines()} == {"-", "("}
    preferences.write_text("secret")
    bad = askew("near", "places", *near, "--preferences", preferences)
    assert (bad.code, "secret" in bad.err) == (1, False)


@pytest.mark.usefixtures("impatient")
def test_the_noise_of_a_named_place_is_not_set_when_it_is_asked_from(
    askew: Askew, place: Place, data: Path
) -> None:
    """It was drawn before. Before: taken without a word, as if the question were more private."""
    place("add", "home", "--region", "DE", stdin=HOME)
    for option in ("--level=county", "--region=DE"):
        refused = askew("near", "places", option, "--server", "127.0.0.1:1", "--data", data)
        assert (refused.code, "was drawn when it was named" in refused.err) == (2, True)


def test_the_budget_shows_both_accounts_with_their_units_and_names_the_places(
    askew: Askew, place: Place, data: Path
) -> None:
    """Planted bug: as many identical lines as there are places."""
    for name in ("home", "work"):
        place("add", name, "--anew", "--region", "DE", stdin=HOME)
    place("forget", "work", stdin=b"y\n")
    found = askew("budget", "--data", data).out
    position = "one noisy position, epsilon 0.277 per km: the odds between two places 10 km"
    first, second = found.splitlines()[:2]
    assert f"  home: {position}" in first
    assert f"  a place without a name now: {position}" in second
    assert "Places: spent 0.554 per km of a lifetime cap of 4.2. This month: 0.554 of 1.4." in found
    assert "spent 0 of a lifetime cap of 48" in found
    as_json = json.loads(askew("budget", "--json", "--data", data).out)
    assert as_json["spent_per_rating"] == 0
    assert as_json["places"]["lifetime_cap_per_km"] == 4.2
    one, other = (entry["epsilon_per_km"] for entry in as_json["entries"])
    assert as_json["places"]["spent_per_km"] == one + other > 0.55


def test_what_is_near_comes_with_the_pick_and_says_what_was_sent(
    askew: Askew, place: Place, address: str, data: Path
) -> None:
    place("add", "home", "--region", "DE", stdin=HOME)
    found = askew("near", "places", "--server", address, "--data", data, "-k", 7)
    *results, footer, sent = found.out.splitlines()
    assert (found.code, found.err) == (0, "")
    assert [line[0] for line in results] == ["*", *" " * 6]
    assert "SIMULATED" in footer
    assert sent.endswith("; as before)")
    value = json.loads(askew("near", "shops", "--server", address, "--data", data, "--json").out)
    assert len(value["results"]) == 40  # of about 100 bytes each
    assert (value["pick"], value["fresh"]) == (value["results"][0]["title"], False)
    latitude, longitude = value["results"][0]["coordinates"]
    assert f" km, at {latitude:.7g}, {longitude:.7g}  " in results[0]
    assert re.search(r"price \d+(\.\d+)? EUR.*, hours .*, (open|closed) now$", results[0])
    assert value["units"] == {"price": "EUR"}


def test_an_unnamed_place_is_charged_each_time_and_says_so_first(
    askew: Askew, address: str, data: Path
) -> None:
    arguments = ("near", "places", "--unnamed", "--region", "DE", "--server", address)
    for spent in ("0", "0.277"):
        found = askew(*arguments, "--data", data, "--json", stdin=HOME)
        assert found.code == 0
        assert f"all places together: {spent} of 4.2 per km spent" in found.err
        assert json.loads(found.out)["fresh"] is True


def test_values_on_axes_are_asked_from_and_charged_between_any_two(
    askew: Askew, place: Place, address_of_hours: str, data: Path
) -> None:
    added = place("add", "morning", stdin=b"hour = 8.5\n")
    assert "drawn, and charged, when a server is asked" in added.err
    near = ("near", "places", "--place", "morning", "--server", address_of_hours, "--data", data)
    found = askew(*near)
    assert found.code == 0
    assert "epsilon 0.5 per unit distance, at most 1.5 between any two values" in found.err
    assert "units of distance" in found.out
    assert "all values on axes together: 0 of 192 spent" in found.err
    told = askew("budget", "--data", data)
    assert "morning: one value on axes, at most 1.5 from any other" in told.out
    assert "Values on axes: spent 1.5 of a lifetime cap of 192" in told.out
    assert "Ratings: spent 0 of" in told.out
    axes = json.loads(askew("budget", "--data", data, "--json").out)["axes"]
    assert axes == {"spent": 1.5, "lifetime_cap": 192, "this_month": 1.5, "monthly_cap": 32}


def test_axes_that_no_month_pays_for_name_the_setting_that_would(
    askew: Askew,
    place: Place,
    address_of_hours: str,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted bug: "the next month refills this cap", for ever."""
    monkeypatch.setenv("ASKEW_AXIS_MONTHLY_CAP", "1")
    place("add", "morning", stdin=b"hour = 8.5\n")
    near = ("near", "places", "--place", "morning", "--server", address_of_hours, "--data", data)
    found = askew(*near)
    assert found.code == 3
    assert "with these settings no month pays for it" in found.err
    assert "axis_monthly_cap" in found.err
    assert "refills" not in found.err


BAD: dict[str, tuple[tuple[str, ...], bytes, int]] = {
    "no region": (("add", "home"), HOME, 1),
    "no such level": (("add", "home", "--region", "DE", "--level", "density"), HOME, 2),
    "not a number": (("add", "home", "--region", "DE"), b"nan, 13.405", 1),
    "swapped": (("add", "home", "--region", "DE"), b"13.405, 52.52", 1),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_one_line_without_the_position(
    place: Place, data: Path, case: str
) -> None:
    """Planted bug: a level by local density, which tells how many live there."""
    arguments, stdin, code = BAD[case]
    found = place(*arguments, stdin=stdin)
    assert found.code == code
    assert not any(part in found.err + found.out for part in PRIVATE)
    assert ("are latitude and longitude swapped?" in found.err) == (case == "swapped")
    assert json.loads(place("list", "--json").out) == []
    assert not (data / "signals.sqlite").exists()


def test_who_has_no_place_and_no_region_hears_what_to_do(askew: Askew, data: Path) -> None:
    found = askew("near", "places", "--data", data)
    assert (found.code, found.out) == (1, "")
    assert "without --place a question is from home" in found.err
    assert "`askew place add` adds one" in found.err
    found = askew("place", "add", "home", "--data", data, stdin=HOME)
    assert "`--region`, ASKEW_REGION or the configuration file sets it" in found.err


def test_an_unnamed_place_has_no_name(askew: Askew, data: Path) -> None:
    """Planted bug: the name that was given is passed over, and a fresh signal is charged."""
    asked = ("near", "places", "--unnamed", "--place", "home", "--region", "DE", "--data", data)
    found = askew(*asked, stdin=HOME)
    assert found.code == 2
    assert not (data / "signals.sqlite").exists()


def test_a_server_of_the_other_kind_is_told_as_that(
    askew: Askew, place: Place, address: str, demo_address: str, data: Path
) -> None:
    """Not as one whose answer was refused. Exit code 4: none of its answers are of use here."""
    place("add", "home", "--region", "DE", stdin=HOME)
    for command, server, says, instead in (
        (("near", "food"), demo_address, "has a catalog of titles", "`askew ask`"),
        (("ask",), address, "has no items for devices to hold", "`askew near`"),
        (("catalog",), address, "has no items for devices to hold", "`askew near`"),
    ):
        where = () if command == ("catalog",) else ("--data", data)
        found = askew(*command, "--server", server, *where)
        assert (found.code, found.out) == (4, "")
        assert says in found.err
        assert re.findall("`askew [a-z]+`", found.err) == [instead]
        assert "refused" not in found.err


PARAMETERS = [option for _, command in every_command(cli.cli) for option in command.params]


def test_no_option_and_no_variable_takes_a_coordinate_or_a_wish() -> None:
    """Planted bugs: --latitude, --open-now, --like."""
    names = {option.name or "" for option in PARAMETERS}
    private = ("lat", "lon", "position", "where", "open", "like", "price", "filter", "radius")
    assert {name for name in names for word in private if name.startswith(word)} == set()
    assert {option.name for option in PARAMETERS if option.envvar} == {"config_file"}


def test_no_command_takes_a_title_or_a_rating_as_an_argument() -> None:
    """Planted bugs: `askew profile add TITLE RATING`, `askew place add NAME LATITUDE LONGITUDE`,
    which every program could read. Public are a name of a place, and where it may be.
    """
    arguments = {option.name for option in PARAMETERS if isinstance(option, click.Argument)}
    assert arguments == {"collection", "file", "name", "shell", "town"}
    free_text = {
        option.name
        for option in PARAMETERS
        if isinstance(option, click.Option)
        and isinstance(option.type, click.types.StringParamType)
        and option.metavar in {None, "TEXT"}  # else a number or a choice, which `load` refuses
    }
    assert free_text == {"name", "region", "server"}

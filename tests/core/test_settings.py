"""Settings: one precedence, the same refusals from every source, and messages that name it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from askew.errors import ConfigError, ParameterError
from askew.settings import (
    Exact,
    Number,
    OneOf,
    Said,
    Setting,
    Switch,
    Text,
    ValueKind,
    Whole,
    exact_number,
    file_values,
    said,
    tables_of,
)


def refused(text: str) -> None:
    if text == "no":
        raise ParameterError("other", text, "a text that a check takes")


WHOLE, NUMBER = Whole(-2, 9), Number(0.5, 9)
EXACT = Exact(Fraction(1, 4), Fraction(9))
TEXT, CHOICE, SWITCH = Text(check=refused), OneOf(("red", "blue")), Switch()
PORT = Setting("server.port", Whole(0, 65535), "A_PORT", default=7)
NAMES = Setting("server.names", Text(), "A_NAMES", default=(), several=True)
SECRET = Setting("engine", Text("a text"), "A_ENGINE", shared="ENGINE", secret=True)
ALL = (PORT, NAMES, SECRET)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (WHOLE, 9, 9),
        (WHOLE, "-2", -2),
        (NUMBER, 3, 3.0),
        (NUMBER, "0.5", 0.5),
        (EXACT, "1/3", Fraction(1, 3)),
        (EXACT, "0.3", Fraction(3, 10)),
        (EXACT, 2, Fraction(2)),
        (EXACT, Fraction(9), Fraction(9)),
        (TEXT, "yes", "yes"),
        (Text(empty=True), "", ""),
        (CHOICE, "blue", "blue"),
        (SWITCH, "True", True),
        (SWITCH, False, False),
    ],
)
def test_a_value_is_read_from_text_and_as_a_file_has_it(
    kind: ValueKind, value: object, expected: object
) -> None:
    found = kind.of(value)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (WHOLE, (-3, 10, 1.5, "7x", "", " 7", "٣", True, None, 10**400, "9" * 5000)),
        (NUMBER, (0.4, 9.1, "x", "", True, None, [1], float("nan"), "nan", "inf", 10**400)),
        (EXACT, (0.5, "1e9", "1/0", "1/00", "0", "10", True, None, Fraction(1, 5), "four")),
        (TEXT, ("", "no", "a\nb", "\x1b[2J", 7, None, ["a"])),
        (CHOICE, ("green", "", 7, None, ["red"])),
        (SWITCH, ("maybe", "", 1, None)),
    ],
)
def test_what_is_out_of_range_is_refused_whatever_its_type(
    kind: ValueKind, values: tuple[object, ...]
) -> None:
    """Planted bug: a comparison that lets NaN pass, such as `if x <= 0: raise`."""
    for value in values:
        with pytest.raises(ValueError):  # noqa: PT011 (of whatever text)
            kind.of(value)


def test_a_flag_beats_the_environment_and_that_beats_the_file() -> None:
    def port(flags: dict[str, Any], environment: dict[str, str], file: dict[str, Any]) -> Said:
        return said(ALL, flags=flags, environment=environment, file=file)["server.port"]

    file, environment = {"server.port": 1}, {"A_PORT": "2"}
    assert port({"server_port": 3}, environment, file) == Said(3, "flag")
    assert port({"server_port": None}, environment, file) == Said(2, "environment")
    assert port({}, {"A_PORT": ""}, file) == Said(1, "file")
    assert port({}, {}, {}) == Said(7, "default")


def test_a_list_is_one_in_a_file_and_words_in_the_environment() -> None:
    found = said(ALL, flags={"server_names": ()}, environment={"A_NAMES": " a  b "}, file={})
    assert found["server.names"] == Said(("a", "b"), "environment")
    assert NAMES.of(["a", "b"]) == ("a", "b")
    with pytest.raises(ParameterError, match="must be a list, each text, got 7"):
        NAMES.of(7)


def test_the_variable_of_other_commands_comes_after_its_own() -> None:
    both = {"ENGINE": "theirs", "A_ENGINE": "own"}
    engines = [
        said(ALL, flags={}, environment=each, file={})["engine"].value
        for each in (both, {"ENGINE": "theirs"})
    ]
    assert engines == ["own", "theirs"]
    alone = [replace(SECRET, shared=None)]
    assert said(alone, flags={}, environment={"ENGINE": "theirs"}, file={})["engine"].value is None


def test_a_wrong_variable_is_named_with_what_is_accepted() -> None:
    with pytest.raises(ParameterError) as refusal:
        said(ALL, flags={}, environment={"A_PORT": "x"}, file={})
    limit = "a whole number from 0 to 65535"
    assert str(refusal.value) == f"server.port (A_PORT) must be {limit}, got 'x'"


def test_a_limit_of_a_check_is_what_is_said() -> None:
    with pytest.raises(ParameterError, match="it must be a text that a check takes, got 'no'"):
        Setting("it", TEXT, "IT").of("no")


def test_all_that_is_wrong_with_a_file_is_found_and_no_password_is_repeated() -> None:
    text = b"""
    engine = "postgresql://ada:secret@host\\t"
    port = 7
    [server]
    port = 70000
    names = ["a"]
    nmaes = 3
    """
    found = file_values(tables_of(text, "f"), ALL, "f")
    assert found.values == {"server.names": ("a",)}
    assert list(map(str, found.problems)) == [
        "engine (f) must be a text, got something else",
        "'port' is no setting (f) (perhaps server.port)",
        "server.port (f) must be a whole number from 0 to 65535, got 70000",
        "'server.nmaes' is no setting (f) (perhaps server.names)",
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff", "f is no text"),
        (b"engine = postgresql://ada:secret@host", "and is none at line 1, column"),
        (b"k = = 3", "must be a file in TOML"),
        (b"k = 0x" + 5000 * b"f", "must be a file in TOML"),
        (b"k = " + 5000 * b"[", "must be a file in TOML"),
    ],
)
def test_a_file_that_is_no_toml_is_refused_and_not_repeated(data: bytes, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as refusal:
        tables_of(data, "f")
    assert "secret" not in str(refusal.value)


def test_a_decimal_of_a_file_is_exact() -> None:
    assert EXACT.of(tables_of(b"a = 0.3", "f")["a"]) == Fraction(3, 10)


@pytest.mark.parametrize("text", ["1e99999999", "1e9", "", "1/0", "one", "1" * 13, "½"])
def test_what_would_take_minutes_is_no_exact_number(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (of no text)
        exact_number(text)

"""Settings: one precedence, one rule for every source, and all that is wrong at once."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from askew.errors import ConfigError, ParameterError
from askew.settings import (
    SWITCH,
    Kind,
    Setting,
    Table,
    exact,
    number,
    one_of,
    setting,
    settings_of,
    several,
    tables_of,
    text,
    whole,
)


def refuse_no(word: str) -> None:
    if word == "no":
        raise ParameterError("other", word, "a word that a check takes")


@dataclass(frozen=True)
class Role:
    port: int = setting(whole(0, 65535), 7, "A port.", "--port")
    tls_key: str = setting(text(), "k", "A key.")
    names: tuple[str, ...] = setting(several(text()), (), "Names.")
    engine: str = setting(text("a text"), "", "An engine.", shared="ENGINE", secret=True)
    checked: str = setting(text(check=refuse_no), "", "A text.", "--checked")
    unlisted: int = setting(whole(1), 1)


TABLE = Table(settings_of(Role, "A_", ("server", "tls")), "A_", ("CONFIG",))
WHOLE, NUMBER = whole(-2, 9), number(0.5, 9)
EXACT = exact(Fraction(1, 4), Fraction(9))
TEXT, CHOICE = text(check=refuse_no), one_of("red", "blue")


def read(
    flags: dict[str, Any] | None = None,
    environment: dict[str, str] | None = None,
    file: dict[str, Any] | None = None,
) -> dict[str, Any]:
    return TABLE.read(flags or {}, environment or {}, file or {}, "f")


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (WHOLE, 9, 9),
        (WHOLE, "-2", -2),
        (NUMBER, 3, 3.0),
        (NUMBER, Decimal("0.5"), 0.5),
        (EXACT, "1/3", Fraction(1, 3)),
        (EXACT, Decimal("0.3"), Fraction(3, 10)),
        (EXACT, 2, Fraction(2)),
        (TEXT, "yes", "yes"),
        (text(empty=True), "", ""),
        (CHOICE, "blue", "blue"),
        (SWITCH, "True", True),
        (several(WHOLE), " 1  2 ", (1, 2)),
        (several(WHOLE), [1, 2], (1, 2)),
    ],
)
def test_a_value_is_read_from_text_and_as_a_file_has_it(
    kind: Kind, value: object, expected: object
) -> None:
    found = kind.read(value)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (WHOLE, (-3, 10, 1.5, "7x", "", " 7", "٣", True, None, 10**400, "9" * 5000)),
        (NUMBER, (0.4, 9.1, "x", "", True, None, [1], float("nan"), 10**400, Decimal("NaN"))),
        (EXACT, (0.5, "1e9", "1/00", "0", "10", True, None, Fraction(1, 5))),
        (EXACT, (Decimal("NaN"), Decimal("1e99999999"))),
        (TEXT, ("", "no", "a\nb", 7, None)),
        (CHOICE, ("green", 7, ["red"])),
        (SWITCH, ("maybe", 1, None)),
        (several(WHOLE), (7, "1 x", [True])),
    ],
)
def test_what_is_out_of_range_is_refused_whatever_its_type(
    kind: Kind, values: tuple[object, ...]
) -> None:
    """Planted bug: a comparison that lets NaN pass, such as `if x <= 0: raise`."""
    for value in values:
        with pytest.raises(ParameterError):
            Setting(kind, None, "x").of(value, "x")


def test_a_flag_beats_the_environment_and_that_beats_the_file() -> None:
    file, environment = {"server": {"port": 1}}, {"A_PORT": "2"}
    assert read({"port": "3"}, environment, file)["port"] == 3
    assert read({"port": None}, environment, file)["port"] == 2
    assert read({}, {"A_PORT": ""}, file)["port"] == 1
    assert read()["port"] == 7
    both = {"ENGINE": "of other commands", "A_ENGINE": "own"}
    assert read(environment=both)["engine"] == "own"
    assert read(environment={"ENGINE": "theirs"})["engine"] == "theirs"


def test_a_table_of_the_file_has_the_fields_that_begin_with_its_name() -> None:
    assert read(file={"tls": {"key": "file"}})["tls_key"] == "file"
    with pytest.raises(ConfigError, match=r"'server.tls_key' is no setting"):
        read(file={"server": {"tls_key": "file"}})


def test_all_that_is_wrong_is_said_at_once_and_no_password_is_repeated() -> None:
    """Planted bugs: the first problem alone; a source that another one hides is not looked at."""
    file = b"""
    port = 7
    [server]
    engine = "postgresql://ada:secret@host\\t"
    port = 70000
    nmaes = 3
    unlisted = 3
    """
    environment = {"A_PORT": "x", "A_NMAES": "secret", "A_CONFIG": "f", "B_PORT": "x"}
    with pytest.raises(ConfigError) as refusal:
        read({"port": "-1", "checked": "no"}, environment, tables_of(file, "f"))
    limit = "a whole number from 0 to 65535"
    assert str(refusal.value).split("; ") == [
        "'port' is no setting (f) (perhaps server.port)",
        "'server.nmaes' is no setting (f) (perhaps server.names)",
        "'server.unlisted' is no setting (f) (perhaps server.names)",
        "--checked must be a word that a check takes, got 'no'",
        f"--port must be {limit}, got '-1'",
        "A_NMAES is no setting (perhaps A_NAMES)",
        "server.engine (f) must be a text, got something else",
        f"server.port (A_PORT) must be {limit}, got 'x'",
        f"server.port (f) must be {limit}, got 70000",
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("A_WEB_SERVICE_HOST", "10.0.0.1"),
        ("A_SERVICE_PORT", "7571"),
        ("A_SERVICE_PORT_HTTP", "7572"),
        ("A_PORT", "tcp://10.0.0.1:7571"),
        ("A_PORT_7571_TCP_ADDR", "10.0.0.1"),
    ],
)
def test_what_kubernetes_makes_of_a_service_is_nobodys_word(name: str, value: str) -> None:
    """Beside a Service `a`, in the same namespace. Planted bug: a device that does not start there;
    a server whose port is an address.
    """
    assert read(environment={name: value}) == read()


def test_a_slip_beside_a_service_is_refused_all_the_same() -> None:
    """Planted bug: what begins as Kubernetes does is let through."""
    for name in ("A_PORTS", "A_SERVICE", "A_SERVICE_HOSTS", "A_PORT_7571"):
        with pytest.raises(ConfigError, match=f"{name} is no setting"):
            read(environment={name: "7571", "A_SERVICE_HOST": "10.0.0.1"})


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff", "f is no text"),
        (b"engine = postgresql://ada:secret@host", "and is none at line 1, column"),
        (b"k = 0x" + 5000 * b"f", "must be a file in TOML"),
        (b"k = " + 5000 * b"[", "must be a file in TOML"),
        (b"k = 1e9999999999999999999", "must be a file in TOML"),
    ],
)
def test_a_file_that_is_no_toml_is_refused_and_not_repeated(data: bytes, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as refusal:
        tables_of(data, "f")
    assert "secret" not in str(refusal.value)


def test_a_decimal_of_a_file_is_exact() -> None:
    assert tables_of(b"a = 0.1", "f") == {"a": Decimal("0.1")}

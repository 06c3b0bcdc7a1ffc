"""One precedence for every setting: defaults < file < environment < flags."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from askew.errors import ParameterError
from askew_client.settings.file import read_file
from askew_client.settings.settings import ClientSettings
from askew_client.settings.sources import NAMES, configured

if TYPE_CHECKING:
    from client.conftest import Askew

HERE = f"2027-10@{16 * 'ab'}@here:1"
ROOT = Path(__file__).parents[3]


def test_without_any_source_there_are_the_defaults() -> None:
    config = configured({}, {}, {})
    assert (config.server, config.data) == ("127.0.0.1:7571", None)
    assert config.settings == ClientSettings()


@pytest.mark.parametrize(
    ("name", "lowest", "middle", "highest", "expected"),
    [
        ("server", "a:1", "b:2", "c:3", ("a:1", "b:2", "c:3")),
        ("theme", "light", "dark", "light", ("light", "dark", "light")),
        ("data", "/a", "/b", Path("/c"), (Path("/a"), Path("/b"), Path("/c"))),
        (
            "mechanism",
            "bucket_rr",
            "geo_laplace",
            "bucket_rr",
            ("bucket_rr", "geo_laplace", "bucket_rr"),
        ),
        ("epsilon", "1/3", "2", Fraction(3), (Fraction(1, 3), Fraction(2), Fraction(3))),
        ("k", 3, "4", 5, (3, 4, 5)),
        ("lifetime_cap", "0.5", "20", Fraction(30), (Fraction(1, 2), Fraction(20), Fraction(30))),
        ("monthly_cap", "0.5", "20", Fraction(30), (Fraction(1, 2), Fraction(20), Fraction(30))),
        ("max_diameter", 3, "4.5", 5, (3.0, 4.5, 5.0)),
        ("max_one_rating", "0.5", "1", 2, (0.5, 1.0, 2.0)),
        ("interval", "0.5", "1", 2, (0.5, 1.0, 2.0)),
        ("timeout", "1.5", "2", 3, (1.5, 2.0, 3.0)),
        ("authority", "/a.pem", "b.pem", "~/c.pem", ("/a.pem", "b.pem", "~/c.pem")),
        ("mode", "local", "query", "auto", ("local", "query", "auto")),
        ("byte_budget", 3, "4", 5, (3, 4, 5)),
        (
            "consent",
            f"bucket_rr:1:5@{HERE}",
            f"bucket_rr:2:5@{HERE}",
            f"bucket_rr:4:5@{HERE} bucket_rr:2:5@{HERE}",
            (
                f"bucket_rr:1:5@{HERE}",
                f"bucket_rr:2:5@{HERE}",
                f"bucket_rr:4:5@{HERE} bucket_rr:2:5@{HERE}",
            ),
        ),
        ("region", "DE", "FR", "1/2/3/4", ("DE", "FR", "1/2/3/4")),
        ("level", "town", "county", "district", ("town", "county", "district")),
        ("near_k", 3, "4", 5, (3, 4, 5)),
        ("place_draw_cap", "0.5", "1", Fraction(2), (Fraction(1, 2), Fraction(1), Fraction(2))),
        ("place_monthly_cap", "0.5", "1", Fraction(2), (Fraction(1, 2), Fraction(1), Fraction(2))),
        ("place_lifetime_cap", "0.5", "1", Fraction(2), (Fraction(1, 2), Fraction(1), Fraction(2))),
        ("max_axes_diameter", "0.5", "1", 2, (0.5, 1.0, 2.0)),
    ],
)
def test_a_flag_beats_the_environment_and_that_beats_the_file(
    name: str, lowest: object, middle: str, highest: object, expected: tuple[object, ...]
) -> None:
    """Every setting, so that none has a precedence of its own."""

    def value(flags: dict[str, object], environment: dict[str, str]) -> object:
        config = configured(flags, environment, {name: lowest})
        where = config if name in ("server", "data", "theme") else config.settings
        return getattr(where, name)

    environment = {f"ASKEW_{name.upper()}": middle}
    found = (value({}, {}), value({}, environment), value({name: highest}, environment))
    assert found == expected


def test_a_flag_that_was_not_given_says_nothing() -> None:
    assert configured({"k": None}, {}, {"k": 3}).settings.k == 3


def test_a_decimal_in_the_file_is_exact(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("epsilon = 0.1\n")
    assert configured({}, {}, read_file(path)).settings.epsilon == Fraction(1, 10)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("epsilon = 1e99999999\n", "epsilon must be a number"),
        ("epsilon = [1]\n", "epsilon must be a number"),
        ("k = 1.5\n", "k must be a whole number"),
        ("k = true\n", "k must be a whole number"),
        ("server = 3\n", "server must be text"),
        ('authority = "ca.pem"\n', "authority must be an absolute path"),
        ('server = "nowhere"\n', "server must be host:port"),
        ('theme = "pink"\n', "theme must be dark or light"),
        ("k = 0\n", "k must be a whole number of at least 1"),
        ("epsilon = 1025\n", "epsilon must be between 1/1024 and 1024 for geo_laplace"),
        ("lifetime_cap = 0\n", "lifetime_cap must be positive"),
        ("timeout = -1\n", "timeout must be positive"),
        ("interval = 0\n", "interval must be from 0.1 to 3600 seconds"),
        ("timeout = 0\n", "timeout must be positive and at most 3600 seconds"),
        ("monthly_cap = 0\n", "monthly_cap must be positive"),
        ("colour = 3\n", "must be one of server"),
        ("k = = 3\n", "must be a file in TOML"),
        ("k = 0x" + 5000 * "f", "must be a file in TOML"),
        ("epsilon = " + 5000 * "[", "must be a file in TOML"),
        ('mode = "both"\n', "mode must be auto, local, cached or query"),
        ("byte_budget = 0\n", "byte_budget must be a whole number of at least 1"),
        ('consent = "yes"\n', "consent must be what `askew ask` wrote"),
        ("data = 5\n", "data must be text"),
        ('data = ""\n', "data must be text"),
        ('data = "here"\n', "data must be an absolute path"),
        ('data = "~nobody-of-this-name/here"\n', "data must be an absolute path"),
        ('data = "/a\\u0000b"\n', "data must be an absolute path"),
    ],
)
def test_a_wrong_configuration_is_refused_by_name(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ParameterError, match=reason):
        configured({}, {}, read_file(path))


@pytest.mark.parametrize("place", ["here", ".", "~nobody-of-this-name"])
def test_a_ledger_does_not_depend_on_where_a_command_starts(place: str) -> None:
    """Planted bug: a fresh budget in each working directory, without a word."""
    with pytest.raises(ParameterError, match="data must be an absolute path"):
        configured({}, {"ASKEW_DATA": place}, {})
    assert configured({"data": Path("here")}, {}, {}).data == Path("here")  # typed for one run
    assert configured({}, {"ASKEW_DATA": "~/here"}, {}).data == Path.home() / "here"


def test_the_command_reads_all_three(
    askew: Askew, demo_address: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From end to end, by the number of results; the file is where the platform keeps them."""

    def results(*flags: str) -> int:
        found = askew("ask", "--server", demo_address, "--ratings", "-", *flags, stdin=RATED)
        return sum(not line.startswith("(") for line in found.out.splitlines())

    file = home / "config" / "askew" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("k = 3\n")
    counts = [results()]
    monkeypatch.setenv("ASKEW_K", "4")
    counts.append(results())
    counts.append(results("-k", "5"))
    (home / "other.toml").touch()
    monkeypatch.setenv("ASKEW_CONFIG", str(home / "other.toml"))
    monkeypatch.delenv("ASKEW_K")
    counts.append(results())
    assert counts == [3, 4, 5, 8]


def test_a_configuration_that_is_named_and_not_there_is_refused(
    askew: Askew, tmp_path: Path
) -> None:
    """Planted bug: a wrong name, and the defaults draw a signal with another epsilon."""
    found = askew("--config", tmp_path / "no-such-file", "ask", "--data", tmp_path)
    assert (found.code, "no-such-file' does not exist" in found.err) == (2, True)


def test_a_configuration_that_is_no_text_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"k = 3 # \xff\n")
    with pytest.raises(ParameterError, match="must be a file in TOML"):
        read_file(path)


RATED = b"title,rating\nAlien (1979),4.5\n"


def test_every_setting_is_documented_once() -> None:
    text = (ROOT / "docs" / "device.md").read_text(encoding="utf-8")
    assert [text.count(f"| `{name}` |") for name in NAMES] == [1] * len(NAMES)


def test_a_yes_to_whichever_server_proposed_it_counts_no_more() -> None:
    """Stored by an earlier version, without a server's name: it is dropped, and nothing stops."""
    config = configured({}, {}, {"accept": "bucket_rr:16:8", "k": 5})
    assert (config.settings.consent, config.settings.k) == ("", 5)


def test_a_file_whose_last_consent_was_withdrawn_is_read() -> None:
    assert configured({}, {}, {"consent": ""}).settings.consent == ""

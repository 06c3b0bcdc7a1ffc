"""One precedence for every setting: defaults < file < environment < flags."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

from askew.errors import ConfigError
from askew_client.settings.config import SETTINGS, configured, read_file
from askew_client.settings.settings import ClientSettings


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
        ("mode", "held", "ask", "auto", ("held", "ask", "auto")),
        ("epsilon_per_rating", "1/3", "2", "3", (Fraction(1, 3), Fraction(2), Fraction(3))),
        ("k", 3, "4", "5", (3, 4, 5)),
        ("timeout", "1.5", "2", 3, (1.5, 2.0, 3.0)),
        ("authority", "/a.pem", "/b.pem", "~/c.pem", ("/a.pem", "/b.pem", "~/c.pem")),
    ],
)
def test_a_flag_beats_the_environment_and_that_beats_the_file(
    name: str, lowest: object, middle: str, highest: object, expected: tuple[object, ...]
) -> None:
    """One of each kind; the precedence is the core's."""

    def value(flags: dict[str, object], environment: dict[str, str]) -> object:
        config = configured(flags, environment, {name: lowest})
        return getattr(config if hasattr(config, name) else config.settings, name)

    environment = {f"ASKEW_{name.upper()}": middle}
    found = (value({}, {}), value({}, environment), value({name: highest}, environment))
    assert found == expected


def test_there_are_at_most_twenty_settings_and_each_says_what_it_means() -> None:
    """For the page of settings, which is made from the table."""
    assert len(SETTINGS.settings) <= 20
    assert [each.name for each in SETTINGS.settings if not each.help.endswith(".")] == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("epsilon_per_rating = 1e99999999\n", "epsilon_per_rating (F) must be a number"),
        (
            "epsilon_per_rating = 1025\n",
            "epsilon_per_rating (F) must be a number such as 2, 1/3 or",
        ),
        ("k = true\n", "k (F) must be a whole number from 1"),
        ("server = 3\n", "server (F) must be text"),
        ('server = "nowhere"\n', "server (F) must be host:port"),
        ('authority = "ca.pem"\n', "authority (F) must be an absolute path"),
        ('theme = "pink"\n', "theme (F) must be one of dark, light"),
        ("timeout = 0\n", "timeout (F) must be a number from 0.001 to 3600 seconds"),
        ("colour = 3\n", "'colour' is no setting (F)"),
        ("interval = 3\n", "'interval' is no setting (F)"),
        ("k = = 3\n", "F must be a file in TOML"),
        ('mode = "both"\n', "mode (F) must be one of auto, held, ask"),
        ('region = "Atlantis"\n', "region (F) must be a country's English name"),
        ("data = 5\n", "data (F) must be an absolute path"),
        ('data = ""\n', "data (F) must be an absolute path"),
        ('data = "here"\n', "data (F) must be an absolute path"),
        ('data = "~nobody-of-this-name/here"\n', "data (F) must be an absolute path"),
        ('data = "/a\\u0000b"\n', "data (F) must be an absolute path"),
    ],
)
def test_a_wrong_configuration_is_refused_by_name(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=re.escape(reason.replace("F", str(path)))):
        configured({}, {}, read_file(path), str(path))


@pytest.mark.parametrize("place", ["here", ".", "~nobody-of-this-name"])
def test_a_ledger_does_not_depend_on_where_a_command_starts(place: str) -> None:
    """Planted bug: a fresh budget in each working directory, without a word."""
    with pytest.raises(ConfigError, match="must be an absolute path"):
        configured({}, {"ASKEW_DATA": place}, {})
    assert configured({"data": Path("here")}, {}, {}).data == Path("here")  # typed for one run
    assert configured({}, {"ASKEW_DATA": "~/here"}, {}).data == Path.home() / "here"


def test_a_device_starts_beside_services_of_kubernetes() -> None:
    """Of a Service `askew`, and of one `askew-server`."""
    made = {
        "ASKEW_SERVICE_HOST": "10.0.0.1",
        "ASKEW_PORT": "tcp://10.0.0.1:7571",
        "ASKEW_PORT_7571_TCP_PROTO": "tcp",
        "ASKEW_SERVER_PORT": "tcp://10.0.0.1:7571",
    }
    assert configured({}, made, {}) == configured({}, {}, {})

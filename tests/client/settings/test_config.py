"""One precedence for every setting: defaults < file < environment < flags."""

from __future__ import annotations

import re
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from client.conftest import Askew
from hypothesis import given
from hypothesis import strategies as st

from askew.errors import ConfigError
from askew.settings import exact_number
from askew_client.settings.config import ConfigFile, configured, read_file


@pytest.mark.parametrize(
    ("name", "lowest", "middle", "highest", "expected"),
    [
        ("data", "/a", "/b", Path("/c"), (Path("/a"), Path("/b"), Path("/c"))),
        ("epsilon_per_rating", "1/3", "2", "3", (Fraction(1, 3), Fraction(2), Fraction(3))),
        ("k", 3, "4", "5", (3, 4, 5)),
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


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("epsilon_per_rating = 1025\n", "epsilon_per_rating (F) must be a number such as 2, 1/3"),
        ('server = "nowhere"\n', "server (F) must be host:port"),
        ('authority = "ca.pem"\n', "authority (F) must be an absolute path"),
        ("timeout = 0\n", "timeout (F) must be a number from 0.001 to 3600 seconds"),
        ("colour = 3\n", "'colour' is no setting (F)"),
        ("k = = 3\n", "F must be a file in TOML"),
        ('mode = "both"\n', "mode (F) must be one of auto, held, ask"),
        ('region = "Atlantis"\n', "region (F) must be a country's English name"),
        ('data = "/a\\u0000b"\n', "data (F) must be an absolute path"),
    ],
)
def test_a_wrong_configuration_is_refused_by_name(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=re.escape(reason.replace("F", str(path)))):
        configured({}, {}, read_file(path), str(path))


def test_a_ledger_does_not_depend_on_where_a_command_starts() -> None:
    """Planted bug: a fresh budget in each working directory, without a word."""
    for place in (".", "~nobody-of-this-name"):
        with pytest.raises(ConfigError, match="must be an absolute path"):
            configured({}, {"ASKEW_DATA": place}, {})
    assert configured({"data": Path("here")}, {}, {}).data == Path("here")  # typed for one run
    assert configured({}, {"ASKEW_DATA": "~/here"}, {}).data == Path.home() / "here"
    # Variables of a server are nothing to a device.
    assert configured({}, {"ASKEW_SERVER_PORT": "7571"}, {}) == configured({}, {}, {})


MINE = '# mine\nk = 3  # a few\nserver = "a:1"  # home # really\n\n# the end\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where there is no file yet, nor its directory."""
    return tmp_path / "askew" / "config.toml"


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_a_change_keeps_comments_and_every_other_line(path: Path) -> None:
    """Planted bug: a file that is written anew from its settings."""
    ConfigFile(written(path, MINE)).keep(
        {"k": 5, "epsilon_per_rating": Fraction(1, 3), "server": "b:2"}
    )
    assert path.read_text() == (
        '# mine\nk = 5  # a few\nserver = "b:2"  # home # really\n\n# the end\n'
        'epsilon_per_rating = "1/3"\n'
    )


def test_a_link_stays_a_link(path: Path, tmp_path: Path) -> None:
    """Planted bug: a rename over the link, and the file that the person edits is another one."""
    home = written(tmp_path / "dotfiles.toml", MINE)
    path.parent.mkdir()
    path.symlink_to(home)
    ConfigFile(path).keep({"k": 5})
    assert path.is_symlink()
    assert "k = 5 " in home.read_text()


@pytest.mark.parametrize(
    "text",
    [
        "k = = 3\n",
        "colour = 3\n",
        "epsilon_per_rating = 2000\n",
        "epsilon_per_rating = " + 5000 * "[",
        "k = 3 # \udcff\n",  # no text at all
    ],
)
def test_a_file_that_is_not_understood_is_left_alone_and_it_says_so(path: Path, text: str) -> None:
    """Planted bug: a file that no command starts with is changed all the same."""
    content = text.encode(errors="surrogateescape")
    written(path, "").write_bytes(content)
    with pytest.raises(ConfigError, match=r"the configuration .*config\.toml has something in it"):
        ConfigFile(path).keep({"k": 5})
    assert path.read_bytes() == content


def test_a_directory_in_its_place_cannot_be_written(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(ConfigError, match="cannot be written: Is a directory"):
        ConfigFile(path).keep({"k": 5})


def test_every_number_that_is_accepted_can_be_kept(path: Path) -> None:
    """Planted bug: 12 digits after the point, whose ratio has 13."""
    epsilon = exact_number("1.123456789011")
    ConfigFile(path).keep({"epsilon_per_rating": epsilon})
    assert configured({}, {}, read_file(path)).settings.epsilon_per_rating == epsilon


def test_the_cap_of_the_file_is_its_own_or_the_default_one(path: Path) -> None:
    assert ConfigFile(path).lifetime_cap() == 48
    assert ConfigFile(written(path, "rating_lifetime_cap = 7.5\n")).lifetime_cap() == Fraction(
        15, 2
    )
    with pytest.raises(ConfigError, match="cannot be read"):
        ConfigFile(written(path, "rating_lifetime_cap = many\n")).lifetime_cap()


TEXTS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20)


@given(data=TEXTS, k=st.integers(1, 64), epsilon=st.fractions(1, 20, max_denominator=99))
def test_a_changed_file_is_read_as_it_was_meant(data: str, k: int, epsilon: Fraction) -> None:
    """Twice, so that what was written can be replaced. Planted bug: a quote that ends the value."""
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder) / "config.toml", MINE)
        ConfigFile(path).keep({"data": "/other", "k": 1})
        ConfigFile(path).keep({"data": f"/{data}", "k": k, "epsilon_per_rating": epsilon})
        found = configured({}, {}, read_file(path))
    assert (found.data, found.settings.k, found.settings.epsilon_per_rating) == (
        Path(f"/{data}"),
        k,
        epsilon,
    )
    assert found.server == "a:1"


@pytest.mark.parametrize(
    ("text", "keys"),
    [('[keys]\nnear.ask = "g"\n"help" = "f9"\n', {"near.ask": "g", "help": "f9"}), ("", {})],
)
def test_keys_of_the_app_have_a_table_of_their_own_which_a_change_leaves_alone(
    path: Path, text: str, keys: dict[str, str]
) -> None:
    """Planted bug: a setting that is appended behind the table, and so becomes a key."""
    written(path, f"# mine\n{text}")
    ConfigFile(path).keep({"k": 3})
    config = configured({}, {}, read_file(path))
    assert (config.keys, config.settings.k) == (keys, 3)
    assert path.read_text().replace("\n\n", "\n") == f"# mine\nk = 3\n{text}"


@pytest.mark.parametrize("text", ["keys = 3", "[keys]\na.b.c = 'x'"])
def test_what_is_no_table_of_keys_is_refused_in_words(path: Path, text: str) -> None:
    written(path, text)
    with pytest.raises(ConfigError, match="a line of \\[keys\\] is a name and a key"):
        configured({}, {}, read_file(path))


def test_the_command_reads_all_three(
    askew: Askew, demo_address: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From end to end, by the number of results; the file is where the platform keeps them."""

    def results(*flags: str) -> int:
        rated = b"title,rating\nAlien (1979),4.5\n"
        out = askew("ask", "--server", demo_address, "--ratings", "-", *flags, stdin=rated).out
        return sum(not line.startswith("(") for line in out.splitlines())

    file = home / "config" / "askew" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("k = 3\n")
    assert results() == 3
    monkeypatch.setenv("ASKEW_K", "4")
    assert (results(), results("-k", "5")) == (4, 5)
    monkeypatch.delenv("ASKEW_K")
    (home / "other.toml").touch()
    monkeypatch.setenv("ASKEW_CONFIG", str(home / "other.toml"))
    assert results() == 20

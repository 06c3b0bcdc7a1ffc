"""Which of a person's titles a catalog does not have: said to them alone, after the last call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from askew_client.storage import private_files
from askew_client.transport.grpc import GrpcTransport

if TYPE_CHECKING:
    from client.conftest import Askew

RATINGS = b'title,rating\nUnheard Of (1901),4.5\nalien,5\nHeat (1996),\n"Godfather, The",3\n'
UNKNOWN = "title,rating\nUnheard Of (1901),4.5\nHeat (1996),\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "unmatched.csv"


def test_one_unknown_title_stops_nothing_and_all_are_listed(
    askew: Askew, demo_address: str, tmp_path: Path, file: Path
) -> None:
    where = ("--server", demo_address, "--data", tmp_path / "data")
    found = askew("ask", "--ratings", "-", *where, "--unmatched", file, stdin=RATINGS)
    assert found.code == 0
    assert "(this device does not know the titles of 2 of your ratings" in found.out
    assert "Unheard" not in found.out + found.err
    assert file.read_text() == UNKNOWN
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_stored_profile_is_looked_through_too_and_json_stays_json(
    askew: Askew, demo_address: str, tmp_path: Path, file: Path
) -> None:
    data = tmp_path / "data"
    askew("profile", "import", "-", "--data", data, stdin=RATINGS)
    where = ("--server", demo_address, "--data", data)
    found = askew("ask", *where, "--json", "--unmatched", file)
    assert (json.loads(found.out)["unused_ratings"], file.read_text()) == (2, UNKNOWN)


def test_who_is_known_throughout_gets_an_empty_list(
    askew: Askew, demo_address: str, tmp_path: Path, file: Path
) -> None:
    """The file of an earlier question must not be taken for this one's."""
    file.write_text(UNKNOWN)
    where = ("--server", demo_address, "--data", tmp_path / "data")
    askew("ask", "--ratings", "-", *where, "--unmatched", file, stdin=b"title,rating\nAlien,5\n")
    assert file.read_text() == "title,rating\n"


def test_nothing_is_looked_for_or_written_before_the_connection_is_closed(
    askew: Askew,
    demo_address: str,
    tmp_path: Path,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted bug: the file written inside the connection, so that its size delays the end of it,
    which is seen.
    """
    order: list[str] = []
    close, write = GrpcTransport.__aexit__, private_files.replace_file

    async def closed(network: GrpcTransport, *error: Any) -> None:
        await close(network, *error)
        order.append("closed")

    def written(path: Path, text: str) -> None:
        order.append(path.name)
        write(path, text)

    monkeypatch.setattr(GrpcTransport, "__aexit__", closed)
    monkeypatch.setattr(private_files, "replace_file", written)
    where = ("--server", demo_address, "--data", tmp_path / "data")
    askew("ask", "--ratings", "-", *where, "--unmatched", file, stdin=RATINGS)
    assert [each for each in order if each != "signals.json"] == ["closed", "unmatched.csv"]

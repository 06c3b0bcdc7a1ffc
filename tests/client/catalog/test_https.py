"""A static host sends files to devices that it cannot tell apart, and cannot keep busy."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import static_host
from catalog_files import MONDAY, body_of
from static_host import head, ranged, unranged

from askew.catalog.catalog_file import HEAD_BYTES, PERIOD, Part, file_of
from askew.errors import Malformed, NotFound, ParameterError, ServerFailed, TooSlow, Unreachable
from askew.noise.randomness import SystemBits
from askew_client.catalog.cache import CachedFile, CatalogCache, CatalogSync
from askew_client.catalog.https import HttpsSource
from askew_client.settings.settings import StaticHost

BODY = body_of("body")
FILE = file_of(BODY)
FILES = {"/askew/2026-11-23.whole": FILE}


async def fetched(host: static_host.StaticHost, directory: Path, day: int = MONDAY) -> CachedFile:
    async with HttpsSource(
        StaticHost.of(f"{host.base}/askew/"), 5.0, static_host.trust()
    ) as source:
        cache = CatalogCache.of(directory, "server:1")
        return await CatalogSync(cache, source, 4_000_000, SystemBits(), check=len).cached(day)


@pytest.mark.parametrize("answer", [ranged, unranged], ids=["ranges", "no ranges"])
async def test_a_file_is_fetched_and_every_byte_of_the_requests_is_known(
    answer: static_host.Answer, tmp_path: Path
) -> None:
    """Planted bugs: a cookie jar, an If-None-Match, a User-Agent with a version, a digest in the
    path, each of which changes these bytes.
    """
    with static_host.serving(FILES, answer) as host:
        found = await fetched(host, tmp_path)
        where = host.base.removeprefix("https://")
    assert (found.body, found.fetched) == (BODY, len(FILE))
    said = [
        "GET /askew/2026-11-23.whole HTTP/1.1\r\n"
        f"Host: {where}\r\nAccept-Encoding: identity\r\nRange: bytes={part}\r\n"
        "User-Agent: askew\r\n\r\n"
        for part in ("0-47", f"{HEAD_BYTES}-")
    ]
    assert [each.decode() for each in host.heard] == said


async def test_a_device_that_comes_back_asks_as_one_that_was_never_there(tmp_path: Path) -> None:
    """Whatever the host gave it to remember: cookies, ETags, dates, TLS sessions."""
    later = {"/askew/2026-12-14.whole": file_of(body_of("later"))}
    with static_host.serving(FILES | later) as host:
        await fetched(host, tmp_path / "known")
        asked: list[list[bytes]] = []
        for device in ("known", "new"):
            host.heard.clear()
            await fetched(host, tmp_path / device, MONDAY + 3 * PERIOD)
            asked.append([*host.heard])
    assert asked[0] == asked[1]
    assert len(asked[0]) == 2
    assert host.sessions_reused == [False] * 6


@pytest.mark.parametrize("answer", [ranged, unranged], ids=["ranges", "no ranges"])
async def test_a_file_that_breaks_off_is_asked_for_as_if_it_never_had(
    answer: static_host.Answer, tmp_path: Path
) -> None:
    """Planted bug: a range from where it broke off, which the host chose."""

    def broken(path: str, first: int, last: int | None, file: bytes) -> bytes:
        return answer(path, first, last, file)[:400_000]

    with static_host.serving(FILES, broken) as host:
        with pytest.raises(Unreachable):
            await fetched(host, tmp_path)
        first, host.answer = [*host.heard], answer
        host.heard.clear()
        found = await fetched(host, tmp_path)
    assert (found.body, found.fetched) == (BODY, len(FILE))
    assert host.heard == first


ANSWERS: dict[str, tuple[static_host.Answer, type[Exception]]] = {
    "a redirect": (
        lambda path, first, last, file: head("302 Found", 0, "Location: /askew/device-7.whole"),
        Malformed,
    ),
    "not modified": (lambda path, first, last, file: head("304 Not Modified", 0), Malformed),
    "nothing there": (lambda path, first, last, file: head("404 Not Found", 0), NotFound),
    "gone": (lambda path, first, last, file: head("410 Gone", 0), NotFound),
    "a password wanted": (lambda path, first, last, file: head("401 Who", 0), ServerFailed),
    "no range in a part": (lambda path, first, last, file: head("206 Part", 3) + b"abc", Malformed),
    "another part": (
        lambda path, first, last, file: ranged(path, first + 1, last, file),
        Malformed,
    ),
    "another encoding": (
        lambda path, first, last, file: head("200 OK", 9, "Content-Encoding: gzip") + b"123456789",
        Malformed,
    ),
    "a short file": (lambda path, first, last, file: head("200 OK", 20) + file[:20], Malformed),
}


WORDS = {
    "a redirect": "redirects to another address",
    "no range in a part": "another part of the file",
    "another part": "another part of the file",
    "another encoding": "an encoding that this device did not ask for",
}


@pytest.mark.parametrize("answer", ANSWERS)
async def test_any_other_answer_is_an_error_and_nothing_is_kept(
    answer: str, tmp_path: Path
) -> None:
    """And no second address is asked: planted bug, a redirect that is followed."""
    said, error = ANSWERS[answer]
    files = FILES | {"/askew/device-7.whole": FILE}
    with static_host.serving(files, said) as host, pytest.raises(error) as caught:
        await fetched(host, tmp_path)
    assert WORDS.get(answer, "") in str(caught.value)
    assert not any(b"device-7" in each for each in host.heard)
    assert not [path for path in _files(tmp_path) if len(path.name) >= 64]


def _files(directory: Path) -> list[Path]:
    return [*directory.rglob("*")]


async def test_of_a_file_that_goes_on_and_on_no_more_is_read_than_its_head_says(
    tmp_path: Path,
) -> None:
    def endless(path: str, first: int, last: int | None, file: bytes) -> bytes:
        return ranged(path, first, last, file + bytes(1 << 24))

    with static_host.serving(FILES, endless) as host:
        assert (await fetched(host, tmp_path)).body == BODY
    assert len(host.heard) == 2


async def test_nobody_waits_for_a_host_that_says_nothing(tmp_path: Path) -> None:
    """Neither in a handshake nor in an answer; and its thread ends, or this test would not."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        base = f"https://127.0.0.1:{silent.getsockname()[1]}"
        async with HttpsSource(StaticHost.of(base), 0.05) as source:
            with pytest.raises(TooSlow):
                await source.read(MONDAY, Part.WHOLE, 0, 48)


async def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    with static_host.serving(FILES) as host:
        async with HttpsSource(StaticHost.of(f"{host.base}/askew"), 5.0) as source:
            with pytest.raises(Unreachable, match="of no authority that is trusted here"):
                await source.read(MONDAY, Part.WHOLE, 0, 48)
    assert host.heard == []


async def test_a_server_that_starts_again_within_a_second_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Planted bugs: a refused connection that ends the fetch; a pause that differs by device."""
    connect, refusals = socket.create_connection, [ConnectionRefusedError()] * 3
    pauses: list[float] = []

    def connected(*place: Any) -> socket.socket:
        if refusals:
            raise refusals.pop()
        return connect(*place)

    async def paused(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("askew_client.catalog.https.socket.create_connection", connected)
    monkeypatch.setattr("askew_client.catalog.https.asyncio.sleep", paused)
    with static_host.serving(FILES) as host:
        assert (await fetched(host, tmp_path)).body == BODY
        assert pauses == [0.1, 0.2, 0.4]
        refusals += [ConnectionRefusedError()] * 4
        with pytest.raises(Unreachable):
            await fetched(host, tmp_path / "other")
    assert refusals == []


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        proxy.setblocking(False)
        for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        yield proxy


async def test_no_proxy_hears_when_a_device_fetches(proxied: socket.socket, tmp_path: Path) -> None:
    with static_host.serving(FILES) as host:
        assert (await fetched(host, tmp_path)).body == BODY
    with pytest.raises(BlockingIOError):
        proxied.accept()


@pytest.mark.parametrize(
    ("base", "host"),
    [
        ("https://files.example.org/", ("https", "files.example.org", 443, "")),
        ("https://files.example.org:8443/a/b/", ("https", "files.example.org", 8443, "/a/b")),
        ("https://[2001:db8::1]/a", ("https", "2001:db8::1", 443, "/a")),
        ("http://[::1]/x", ("http", "::1", 80, "/x")),
    ],
)
def test_an_address_names_a_directory(base: str, host: tuple[str, str, int, str]) -> None:
    assert StaticHost.of(base) == StaticHost(*host)


MARKED = [
    *("files.example.org", "http://files.example.org", "https://"),
    *("https://me@files.example.org", "https://files.example.org/?device=7"),
    *("https://files.example.org/#device", "https://files.example.org/a//b"),
    *("https://files.example.org:0", "https://files.example.org/\r\nCookie: device=7"),
]


@pytest.mark.parametrize("base", MARKED)
def test_an_address_that_could_carry_a_mark_or_is_not_secret_is_refused(base: str) -> None:
    with pytest.raises(ParameterError, match="held_from must be https://"):
        StaticHost.of(base)

"""`askew demo` as a person runs it: real processes, a question about places, and nothing left."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from askew_client.demo.measured import HOME
from askew_client.settings.settings import ClientSettings

README = Path(__file__).parents[2] / "README.md"
WAYS = {
    "known": "no privacy: the 40 nearest to home",
    "askew": "Askew: noisy position, k = 40",
    "nearest": "the 40 nearest to the noisy position",
    "one": "the noisy position, k = 1",
}


@dataclass
class Demo:
    """A running demo whose descendants carry a tag in their environment."""

    process: subprocess.Popen[str]
    tag: str
    temporary: Path

    def read_until(self, words: str) -> str:
        assert self.process.stdout is not None
        seen = ""
        for line in self.process.stdout:
            seen += line
            if words in line:
                return seen
        pytest.fail(f"the demo ended before it said {words!r}:\n{seen}")

    def family(self) -> set[int]:
        """Return the processes that it started and that still run, itself among them."""
        family = set()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if self.tag.encode() in (process / "environ").read_bytes():
                    family.add(int(process.name))
            except OSError:  # gone meanwhile, or somebody else's
                continue
        return family

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=300)
        return self.process.returncode, out, err


Start = Callable[..., Demo]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Start demos; end whatever a failed test leaves of them."""
    demos: list[Demo] = []

    def start(*options: str) -> Demo:
        tag, temporary = uuid.uuid4().hex, tmp_path_factory.mktemp("temporary")
        settings = {"TAG_OF_A_TEST": tag, "TMPDIR": str(temporary), "COLUMNS": "120"}
        process = subprocess.Popen(
            [sys.executable, "-m", "askew_client", "demo", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **settings, "PYTHONUTF8": "1"},
        )
        demos.append(Demo(process, tag, temporary))
        return demos[-1]

    yield start
    for demo in demos:
        demo.process.kill()
        for left in demo.family() - {demo.process.pid}:
            os.kill(left, signal.SIGKILL)
        demo.process.communicate()


@pytest.fixture(scope="module")
def played(start: Start) -> str:
    demo = start()
    code, out, err = demo.end()
    assert (code, err) == (0, "")
    assert_nothing_is_left(demo, out)
    return out


def listens(text: str) -> bool:
    """Whether anybody still answers where the demo said that a server listens."""
    said = re.search(r"listens on 127\.0\.0\.1:(\d+)", text)
    with socket.socket() as caller:
        return said is not None and caller.connect_ex(("127.0.0.1", int(said[1]))) == 0


def assert_nothing_is_left(demo: Demo, out: str) -> None:
    assert list(demo.temporary.iterdir()) == []
    assert demo.family() == set()
    assert not listens(out)


def of_every_run(transcript: str) -> list[str]:
    """Return the lines that chance has no part in, and the words of those that it has: a shorter
    number has more spaces before it.
    """
    start, rows = transcript.partition("\n3  ")[::2]
    rest = rows.partition("\n  ● you")[2]
    return [
        re.sub(r" *[\d.]+", " 0", line).strip()
        for line in [*start.splitlines(), *rest.splitlines()]
    ]


@pytest.mark.slow
def test_the_page_of_the_demo_shows_what_it_prints_today(played: str) -> None:
    """Planted bug: a line of the demo said otherwise, and no page written anew. Rows and the map,
    and every number, are left to chance; `python -m benchmarks.reference demo` writes the page.
    """
    page = (README.parent / "docs/reference/demo.md").read_text("utf-8")
    shown = page.partition("```text\n")[2].removesuffix("```\n")
    assert of_every_run(shown) == of_every_run(played.strip("\n"))
    assert all(line.isprintable() and len(line) <= 80 for line in played.split("\n"))


def figures(text: str, way: str) -> tuple[float, float, int]:
    """Return of a row of the table: nearest and pick in kilometers, no pick in per cent."""
    row = re.search(rf"^{re.escape(WAYS[way])} +([\d.]+) +([\d.]+) +(\d+)%$", text, re.MULTILINE)
    assert row
    return float(row[1]), float(row[2]), int(row[3])


def test_the_readme_has_the_figures_that_the_demo_says_today(played: str) -> None:
    """Each is a mean of 300 draws, whose deviation is 6 % at most, so two fifths are wrong in less
    than one run of 10**9.
    """
    readme = " ".join(README.read_text(encoding="utf-8").split())
    said = re.search(r"of 40 results .* ([\d.]+) km farther .*; one result, ([\d.]+) km", readme)
    assert said
    for way, figure in zip(("askew", "one"), said.groups(), strict=True):
        assert figures(played, way)[0] == pytest.approx(float(figure), rel=0.4)


def test_what_left_is_not_the_home(played: str) -> None:
    """Planted bug: the true position as the signal. What leaves lies on a grid of 1.7 km, and home
    on none of its points, the nearest being 49.1536, 9.2434: no run is wrong by chance.
    """
    sent = re.search(r"noisy position +([\d.]+) north +([\d.]+) east +sent", played)
    assert sent
    assert (float(sent[1]), float(sent[2])) != (HOME.latitude, HOME.longitude)
    home = rf"home +{HOME.latitude:.4f} north +{HOME.longitude:.4f} east   on this screen only"
    assert re.search(home, played)
    drawn = played.partition("which the map has")[2].partition("● you")[0]
    assert drawn.count("◆") + drawn.count("◈") == 1
    assert drawn.count("●") + drawn.count("◈") == 1


def test_askew_does_better_than_the_obvious_answers_and_knowing_the_position_does_best(
    played: str,
) -> None:
    """300 draws leave no doubt: 1.1 km against 2.4 and 6.7, picks of 1.1 against 2.3 and 6.8, each
    more than 6 deviations away.
    """
    nearest = {way: figures(played, way)[0] for way in WAYS}
    assert nearest["known"] == 0
    assert 0 < nearest["askew"] < 0.75 * nearest["nearest"] < nearest["one"]
    picks = {way: figures(played, way)[1] for way in WAYS}
    assert picks["known"] < picks["askew"] < picks["nearest"] < picks["one"]
    assert [figures(played, way)[2] for way in ("known", "askew", "nearest")] == [0, 0, 0]


def test_the_ledger_tells_one_draw_and_the_odds_it_stands_for(played: str) -> None:
    told = played.partition("5  What the budget ledger says")[2]
    settings = ClientSettings(region="Germany")
    epsilon = settings.map_noise.epsilon
    assert f"epsilon {float(epsilon):.4g} per km" in told
    assert f"a lifetime cap of {float(settings.place_lifetime_cap):g}" in told
    assert "1.32 times    if they are 1 km apart" in told  # e**.277 = 1.319
    assert epsilon <= Fraction(277, 1000)
    asked = "Asked again, and about pharmacies: the same position, and no new charge."
    assert asked in played


@pytest.mark.slow
def test_as_many_results_come_back_as_were_asked_for_at_the_level_that_was_asked_for(
    start: Start,
) -> None:
    code, out, err = start("-k", "3", "--level", "county").end()
    assert (code, err) == (0, "")
    results = out.partition("3  The 3 results")[2].partition("·")[0]
    assert len(re.findall(r"^  \d +\d+\.\d  ", results, re.MULTILINE)) == 3
    assert "epsilon 0.06925 per km" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "number"),
    [("Starting", signal.SIGTERM), ("listens on", signal.SIGINT)],
)
def test_ctrl_c_stops_the_demo_and_its_servers(
    start: Start, moment: str, number: signal.Signals
) -> None:
    """Planted bug: a process that is started and not stopped on the way out."""
    demo = start()
    seen = demo.read_until(moment)
    demo.process.send_signal(number)
    code, out, err = demo.end()
    assert (code, err.strip()) == (130, "stopped")
    assert "Traceback" not in seen + out
    assert_nothing_is_left(demo, seen)


def test_a_killed_demo_takes_its_servers_along(start: Start) -> None:
    """Nobody can clean up after SIGKILL; they notice that their standard input closed."""
    demo = start()
    said = demo.read_until("listens on")
    assert listens(said)
    servers = demo.family() - {demo.process.pid}
    assert len(servers) == 2
    ends = [os.pidfd_open(server) for server in servers]
    demo.process.kill()
    demo.end()
    try:
        for end in ends:
            assert select.select([end], [], [], 300)[0]
    finally:
        for end in ends:
            os.close(end)
    assert not listens(said)

"""`askew demo` as a person runs it: a real server, a real exchange, and nothing left behind."""

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
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "askew_client", "demo"]
NO_PROCFS = not Path("/proc/self/environ").exists()


@dataclass
class Demo:
    """A running demo whose descendants carry a tag in their environment."""

    process: subprocess.Popen[str]
    tag: str
    temporary: Path

    def read_until(self, words: str) -> str:
        """The output up to the line that has these words."""
        assert self.process.stdout is not None
        seen = ""
        for line in self.process.stdout:
            seen += line
            if words in line:
                return seen
        pytest.fail(f"the demo ended before it said {words!r}:\n{seen}")

    def family(self) -> set[int]:
        """The processes, the demo among them, that it started and that still run."""
        found = set()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if self.tag.encode() in (process / "environ").read_bytes():
                    found.add(int(process.name))
            except OSError:  # gone meanwhile, or somebody else's
                continue
        return found

    def end(self) -> tuple[int, str, str]:
        """Exit code, the rest of the output, and the complaints."""
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


Start = Callable[..., Demo]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts demos; whatever a failed test leaves of them is ended."""
    demos: list[Demo] = []

    def start(*options: str) -> Demo:
        tag, temporary = uuid.uuid4().hex, tmp_path_factory.mktemp("temporary")
        settings = {"ASKEW_TEST_TAG": tag, "TMPDIR": str(temporary), "COLUMNS": "120"}
        process = subprocess.Popen(
            [*COMMAND, *options],
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


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str
    demo: Demo


@pytest.fixture(scope="module")
def finished(start: Start) -> Finished:
    demo = start()
    return Finished(*demo.end(), demo)


def port_of(text: str) -> int:
    found = re.search(r"listens on 127\.0\.0\.1:(\d+)", text)
    assert found
    return int(found[1])


def nobody_answers(port: int) -> bool:
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) != 0


def test_the_demo_plays_to_its_end(finished: Finished) -> None:
    assert (finished.code, finished.err) == (0, "")


def test_every_line_fits_a_terminal_of_80_columns(finished: Finished) -> None:
    wide = [line for line in finished.out.splitlines() if len(line) > 80]
    assert wide == []
    words = finished.out.partition("gains odds of at most\n")[2].splitlines()[:3]
    assert all(line.startswith("    e^") for line in words)  # none was too long and broken in two


# Where chance, the clock or the machine has a part in what the demo says.
CHANCE = re.compile(
    r"(?<=127\.0\.0\.1:)\d+|(?<=noisy signal )\(.*?\)|(?<=as the integers )\(.*?\)"
    r"|(?<=private pick )-?[\d.]+ \d+|(?<=signal, k = 1 )-?[\d.]+ \d+|\d{4}-\d\d(?= one signal)"
)


def without_chance(text: str) -> str:
    """What every demo says, on one line: no results, no map."""
    before, _, after = text.partition("score     film")
    return CHANCE.sub("<chance>", " ".join((before + after.partition("·  where the")[2]).split()))


def test_the_documents_show_what_the_demo_says_today(finished: Finished) -> None:
    document = Path(__file__).parents[2] / "docs" / "demo.md"
    text = document.read_text(encoding="utf-8")
    [shown] = re.findall(r"^```\n(Askew: .*?)^```", text, re.MULTILINE | re.DOTALL)
    assert without_chance(shown).count("<chance>") == 6
    assert without_chance(shown) == without_chance(finished.out)


@pytest.mark.parametrize(
    "words",
    ["SIMULATED", "true point", "noisy signal", "the pick", "no privacy", "k = 1", "ledger"],
)
def test_the_screen_says_what_left_and_what_did_not(finished: Finished, words: str) -> None:
    assert words in finished.out


def test_the_screen_is_plain_text_where_it_is_no_terminal(finished: Finished) -> None:
    assert all(line.isprintable() for line in finished.out.split("\n"))


def test_as_many_results_are_shown_as_were_asked_for(start: Start) -> None:
    code, out, err = start("-k", "3", "--epsilon", "1/2").end()
    assert (code, err) == (0, "")
    assert "k = 3" in out
    results = out.partition("ranked on the device")[2].partition("·")[0]
    assert len(re.findall(r"\(\d{4}\)", results)) == 3


def test_askew_does_better_than_one_result_and_than_no_signal_and_no_privacy_does_best(
    finished: Finished,
) -> None:
    """300 draws leave no doubt: 0.91 against 0.25 and 0.74, 9 deviations from the nearest."""

    def utility(row: str) -> float:
        found = re.search(rf"{row}.*?(-?\d+\.\d\d)", finished.out)
        assert found
        return float(found[1])

    askew = utility("private pick")
    assert utility("the same signal, k = 1") < askew <= utility("no privacy") == 1
    assert utility("no signal at all") < askew


def test_the_guarantee_is_told_in_its_three_units(finished: Finished) -> None:
    words = finished.out.partition("In words")[2]
    losses = [float(loss) for loss in re.findall(r"e\^(\d+\.?\d*)", words)]
    assert len(losses) == 3
    assert losses == sorted(losses)
    assert losses[1] == 4
    for unit in ("one rating", "1 apart", "as far apart as can be"):
        assert unit in words


@pytest.mark.skipif(NO_PROCFS, reason="processes are looked up in /proc")
def test_no_process_is_left(finished: Finished) -> None:
    assert finished.demo.family() == set()


def test_the_port_is_closed_again(finished: Finished) -> None:
    assert nobody_answers(port_of(finished.out))


def test_asking_again_was_seen_to_cost_nothing(finished: Finished) -> None:
    assert "Asked again in the same month: the same bytes, and no new charge." in finished.out


def test_no_file_is_left(finished: Finished) -> None:
    assert list(finished.demo.temporary.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["Starting", "listens on", "noisy signal"])
def test_ctrl_c_stops_the_demo_and_its_server(
    start: Start, moment: str, number: signal.Signals
) -> None:
    """Planted bug: a server that is started and not stopped on the way out."""
    demo = start("--draws", "1000000")  # so that it never ends by itself
    seen = demo.read_until(moment)
    demo.process.send_signal(number)
    code, out, err = demo.end()
    assert (code, err.strip()) == (130, "stopped")
    assert "Traceback" not in seen + out
    assert list(demo.temporary.iterdir()) == []
    if moment != "Starting":
        assert nobody_answers(port_of(seen))
    if not NO_PROCFS:
        assert demo.family() == set()


@pytest.mark.skipif(NO_PROCFS, reason="processes are looked up in /proc")
def test_a_killed_demo_takes_its_server_along(start: Start) -> None:
    """Nobody can clean up after SIGKILL; the server notices that its standard input closed."""
    demo = start("--draws", "1000000")
    port = port_of(demo.read_until("listens on"))
    (server,) = demo.family() - {demo.process.pid}
    server_ends = os.pidfd_open(server)
    demo.process.kill()
    demo.end()
    try:
        ended, _, _ = select.select([server_ends], [], [], 30)
    finally:
        os.close(server_ends)
    assert ended
    assert nobody_answers(port)

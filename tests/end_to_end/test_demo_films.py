"""`askew demo --films` as a person runs it: a real server, a real exchange, and nothing left."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from end_to_end.demo_process import (
    NO_PROCFS,
    Finished,
    Start,
    assert_stopped_in_order,
    nobody_answers,
    port_of,
    starter,
)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    with starter(tmp_path_factory) as start:
        yield start


@pytest.fixture(scope="module")
def finished(start: Start) -> Finished:
    demo = start("--films")
    return Finished(*demo.end(), demo)


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
    [shown] = re.findall(r"^```\n(Askew: one private .*?)^```", text, re.MULTILINE | re.DOTALL)
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
    code, out, err = start("--films", "-k", "3", "--epsilon", "1/2").end()
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


def test_ctrl_c_stops_the_demo_and_its_server(start: Start) -> None:
    """Planted bug: a server that is started and not stopped on the way out."""
    demo = start("--films", "--draws", "1000000")  # so that it never ends by itself
    assert_stopped_in_order(demo, signal.SIGINT, "noisy signal")

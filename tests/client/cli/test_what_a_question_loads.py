"""A question loads what it needs, and is asked on a start that takes a third of a second."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ASK = """
import sys
from askew_client.cli.start import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""
# What a question about a taste has no use for.
USELESS = {
    "askew_client.device.budget",
    "askew_client.device.nearby",
    "askew_client.near",
    "askew_client.tui",
    *("cryptography", "rich", "scipy", "sklearn", "textual"),
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("title,rating\nAlien (1979),5\n")
    words = ["profile", "import", str(ratings), "--data", str(tmp_path)]
    subprocess.run([sys.executable, "-m", "askew_client", *words], check=True, capture_output=True)
    return tmp_path


def ask(address: str, data: Path, *options: str) -> tuple[str, set[str]]:
    """What was answered, and the modules that it took."""
    words = ["ask", "--server", address, "--data", str(data), *options]
    done = subprocess.run(
        [sys.executable, "-c", ASK, *words], capture_output=True, text=True, check=True
    )
    return done.stdout, set(done.stderr.split())


def test_a_question_about_a_taste_loads_nothing_of_places(demo_address: str, data: Path) -> None:
    """Planted bug: the named places are made with the device."""
    answer, loaded = ask(demo_address, data, "--mode", "ask")
    assert "* " in answer
    assert "grpc" in loaded
    assert loaded & USELESS == set()


def test_what_is_held_answers_without_a_network(demo_address: str, data: Path) -> None:
    """Planted bug: the channel is made when the device is opened."""
    ask(demo_address, data, "--mode", "held")  # fetches what is held
    answer, loaded = ask(demo_address, data, "--mode", "held")
    assert "nothing is drawn, charged or sent" in answer
    assert "grpc" not in loaded

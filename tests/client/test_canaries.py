"""What is private shows in the stores and on the person's own screen, and nowhere else.

The person rated two films of the catalog and one that nobody knows; any trace of them is a leak.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from client.conftest import K4, Askew, Pair
from made_device import made_device
from raised import raised

from askew.catalog.catalog import Catalog
from askew.errors import AskewError, Malformed, Unreachable
from askew.protocol.cards import Card, ModelCard
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query
from askew_client.transport.in_process import LocalTransport
from askew_client.views.answers import Answer

RATED = b"title,rating\nAlien (1979),4.625\nCasablanca (1942),1.375\nXanadu Canary,3.875\n"
CANARIES = ["Alien", "Casablanca", "Xanadu", "4.625", "1.375", "3.875"]
STORES = {"profile.sqlite", "profile.sqlite-wal", "profile.sqlite-shm"}

# The command with every log turned on, and every file that it opens for writing, every process
# that it starts and every variable that it sets written down.
WATCHED = """
import json, logging, os, sys
logging.basicConfig(level=logging.DEBUG)
seen = []

def hear(event, arguments):
    writes = os.O_WRONLY | os.O_RDWR
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & writes:
        if not isinstance(arguments[0], int):  # a handle, opened by its name before
            seen.append(["write", str(arguments[0])])
    elif event == "sqlite3.connect":
        seen.append(["write", str(arguments[0])])
    elif event in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.putenv"):
        seen.append([event, repr(arguments)])

sys.addaudithook(hear)
from askew_client.cli.main import main
from askew_client.transport.shaped import ShapedTransport
try:
    main()
finally:
    with open("/proc/self/cmdline", "rb") as file:
        seen.append(["argv", file.read().decode()])
    print("\\nWATCHED " + json.dumps(seen), file=sys.stderr)
"""


def watched(*arguments: str, stdin: bytes = b"") -> tuple[str, str, list[list[str]]]:
    """Standard output, standard error, and what the command did, of one run."""
    run = subprocess.run(
        [sys.executable, "-B", "-X", "dev", "-c", WATCHED, *arguments],  # our code is not compiled
        input=stdin,
        capture_output=True,
        env=os.environ | {"PYTHONWARNINGS": "default"},
        timeout=120,
        check=False,
    )
    err, _, seen = run.stderr.decode().rpartition("\nWATCHED ")
    return run.stdout.decode(), err, json.loads(seen)


def leaks(text: str) -> list[str]:
    return [canary for canary in CANARIES if canary in text]


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
def test_a_whole_life_leaves_the_person_in_the_profile_store_alone(
    demo_address: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Import, ask, look, with every log on. What is held is held alike by all. Planted
    bugs: a debug log of the ranking, a cache of the answer, a rating as an argument of a process.
    """
    monkeypatch.setenv("TMPDIR", str(home))
    server = ("--server", demo_address)
    runs = [
        watched("profile", "import", "-", stdin=RATED),
        watched("ask", *server, "--mode", "ask"),
        watched("ask", *server, "--mode", "ask", "--json"),
        watched("budget"),
        watched("ask", "--server", "127.0.0.1:1"),
        watched("ask", *server, "--mode", "ask", "-k", "65"),
        watched("ask", *server, "--max-nothing"),
    ]
    picked = json.loads(runs[2][0])["pick"]
    for out, err, seen in runs:
        assert leaks(err + json.dumps(seen)) == []
        assert picked not in err + json.dumps(seen)
        assert picked not in out or out in (runs[1][0], runs[2][0])
        paths = [path for kind, path in seen if kind == "write"]
        names = {Path(path).name for path in paths if not re.search("/(held|askew-held-)", path)}
        names -= {name for name in names if len(name) == 8 and "." not in name}  # tempfile's probe
        new = r"^(signals\.json|profile\.sqlite)\.\w+\.new$"
        # :memory: is no file: where the tables are made that a store must have
        written = {re.sub(new, r"\1.new", name) for name in names} - {":memory:", "mark", "null"}
        assert written <= STORES | {"signals.sqlite", "signals.json.new", "profile.sqlite.new"}
        assert {kind for kind, _ in seen} <= {"write", "argv", "os.putenv"}
    left = {path.name: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    held = {path.name for path in home.rglob("held/*/*")}
    assert set(left) - held == {"profile.sqlite", "signals.sqlite", "signals.json"}
    leaky = {name for name, data in left.items() if leaks(data.decode("latin-1"))}
    assert leaky == {"profile.sqlite"}


class Failing(LocalTransport):
    def __init__(
        self, card: ModelCard, catalog: Catalog, spoil: Callable[[Slate], Slate] | AskewError
    ) -> None:
        super().__init__(card, catalog)
        self._spoil = spoil

    async def retrieve(self, query: Query, card: Card) -> Slate:
        slate = await super().retrieve(query, card)
        if isinstance(self._spoil, AskewError):
            raise self._spoil
        return self._spoil(slate)


@pytest.mark.parametrize(
    "spoil",
    [
        Unreachable("gone"),
        Malformed("not a message"),
        lambda slate: replace(slate, vectors=slate.vectors + 1),
    ],
    ids=["unreachable", "malformed", "moved"],
)
async def test_no_failure_tells_anything_of_the_person(
    pair: Pair, tmp_path: Path, spoil: Callable[[Slate], Slate] | AskewError
) -> None:
    """Planted bug: a message or a chained exception that quotes what was being ranked."""
    device = made_device(Failing(pair.card, pair.catalog, spoil), tmp_path, K4)
    device.profile.edit({"Film 9 (1969)": (4.625,), "Xanadu Canary": (3.875,)})
    problem = await raised(device.asker.ask(device.titles))
    text = "".join(traceback.format_exception(problem.error)) + repr(problem) + problem.hint
    assert leaks(text) == []
    assert "Film" not in text


async def test_nothing_that_a_screen_holds_shows_the_person_when_printed(
    pair: Pair, tmp_path: Path
) -> None:
    device = made_device(LocalTransport(pair.card, pair.catalog), tmp_path, K4)
    device.profile.edit({"Film 9 (1969)": (4.625,), "Xanadu Canary": (3.875,)})
    answer = await device.asker.ask(device.titles)
    assert isinstance(answer, Answer)
    profile, titles = device.profile, device.titles
    text = repr([device, answer, answer.results, answer.departure, profile.ratings()])
    text += repr([titles.search("film"), titles.bars(), profile.history()])
    assert leaks(text) == []
    assert "Film" not in text
    assert "0.625" not in text
    assert re.findall(r"\b(?:score|rating|label|value|picked|why|true_point|labels)=", text) == []


def test_a_hostile_title_in_the_profile_is_listed_as_it_is(askew: Askew) -> None:
    hostile = "[bold red]Free[/bold red] [link=http://evil]film[/link] :boom: %s {0}"
    askew("profile", "add", stdin=f"{hostile},4\n".encode())
    assert askew("profile", "list").out == f"    4  {hostile}\n"

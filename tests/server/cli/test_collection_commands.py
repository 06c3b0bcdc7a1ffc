"""Collections on the command line: made, updated, and served with values that change."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from server.release.typed import FAILED, USAGE, Captured, Run

from askew.catalog.attributes import Flags
from askew.catalog.catalog_file import HEAD_BYTES
from askew.protocol import cards
from askew.protocol.cards import Want
from askew.spaces.map import MapSpace
from askew.wire.catalog_file import rows_from_body, with_live_values
from askew_server.cli import collect_run
from askew_server.collections import artifact


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rows = [f"c{i},Café {i},{47.5 + i / 5},{6 + i / 4},{i},no" for i in range(30)]
    text = "\n".join(["id,name,lat,lon,price,open", *rows, "c30,Nowhere,0,0,1,no", ""])
    (tmp_path / "cafes.csv").write_text(text)
    rows = [f"Bar {i},{48 + i / 5},{7 + i / 4}" for i in range(10)]
    (tmp_path / "bars.csv").write_text("\n".join(["name,lat,lon", *rows, ""]))
    towns = "name,latitude,longitude,population\nA,52.5,13.4,3000000\nB,48,11,900\n"
    (tmp_path / "towns.csv").write_text(towns)
    return tmp_path


@pytest.fixture
def collect(run: Run, files: Path) -> Run:
    """Makes a model of both files."""

    def command(*arguments: object) -> int:
        named = [f"cafes={files / 'cafes.csv'}", f"bars={files / 'bars.csv'}"]
        collections = [part for name in named for part in ("--collection", name)]
        model = ("--out", files / "model", "--region", "47/5/55/16")
        return run("collect", *model, *collections, *arguments)

    return command


SHOWN = ("--attribute", "price=number:EUR", "--live", "open")


def test_a_model_is_made_and_what_was_left_out_is_said(
    collect: Run, files: Path, capsys: Captured
) -> None:
    with (files / "cafes.csv").open("a") as file:
        file.write("c31,Café 31,50,10,~3,no\n")
    assert collect(*SHOWN, "--towns", files / "towns.csv") == 0
    shown = capsys.readouterr()
    assert "1 row of cafes.csv left out:" in shown.err
    assert "1: it lies outside the region 47/5/55/16 (line 32)" in shown.err
    assert "1 value of cafes.csv unknown, or in part; their rows stay:" in shown.err
    assert "1: price must be a finite number (line 33)" in shown.err
    assert "cafes, number 0, 31 items" in shown.out
    assert "price: number in EUR" in shown.out
    assert "open: flag, live" in shown.out
    assert re.search(r"largest k    cafes \d+, bars \d+", shown.out)
    card = artifact.load(files / "model").card
    assert (card.rule, card.density) == ("posterior", "2 towns, towns.csv")
    assert card.collection("cafes").source == "cafes.csv"


def test_rows_that_devices_hold_are_proposed_and_can_be_published(
    run: Run, collect: Run, files: Path, capsys: Captured
) -> None:
    """The file is one that devices read, with the very card that the server has."""
    assert collect(*SHOWN) == 0
    shown = capsys.readouterr().out
    fetched = "and fetch 6 bytes of live values of everything"
    assert re.search(f"devices hold cafes, [0-9,]+ bytes, {fetched}", shown)
    assert re.search("devices hold bars, [0-9,]+ bytes, and send nothing", shown)
    model = artifact.load(files / "model")
    assert [part.mode for part in model.card.collections] == ["held", "held"]
    site = files / "site"
    monday = ("--week", "2026-11-23")
    assert run("publish", "--model", files / "model", *monday, "--out", site) == 0
    card, rows = rows_from_body((site / "2026-11-23.whole").read_bytes()[HEAD_BYTES:])
    assert card == model.card
    assert {name: len(part) for name, part in rows.items()} == {"cafes": 30, "bars": 10}
    # Live values of now are beside it, and are the one file that is replaced.
    (files / "now.csv").write_text("id,open\nc7,yes\n")
    for is_open in (0, 1):
        file = (site / "2026-11-23.live").read_bytes()
        live = with_live_values(card, rows, file)["cafes"].columns[1]
        assert isinstance(live, Flags)
        assert live.values.sum() == is_open
        update = ("--model", files / "model", "--collection", f"cafes={files / 'now.csv'}")
        assert run("update-live", *update) == 0
        assert run("publish", "--model", files / "model", *monday, "--out", site) == 0


def test_an_item_goes_and_the_others_keep_their_live_values(
    run: Run, collect: Run, files: Path, capsys: Captured
) -> None:
    """Copied over the model in force, with its file of live values. Planted bugs: those of the new
    file count; they are found by row.
    """
    assert collect(*SHOWN) == 0
    (files / "now.csv").write_text("id,open\nc7,yes\nc29,yes\n")
    update = ("--model", files / "model", "--collection", f"cafes={files / 'now.csv'}")
    assert run("update-live", *update) == 0
    rows = (files / "cafes.csv").read_text().splitlines(keepends=True)
    (files / "cafes.csv").write_text("".join([*rows[:3], *rows[4:], "c99,New,50,10,3,yes\n"]))
    without = ("--out", files / "without", "--model", files / "model")
    named = ("--region", "47/5/55/16", "--collection", f"cafes={files / 'cafes.csv'}")
    assert run("collect", *without, *named, *SHOWN) == 0
    shutil.copytree(files / "without", files / "model", dirs_exist_ok=True)
    cafes = artifact.with_live_file(
        files / "model", artifact.load(files / "model").collections["cafes"]
    )
    shown = cafes.listings(range(len(cafes)))
    assert len(shown) == 30
    assert {item.title for item in shown if item.values[1]} == {"Café 7", "Café 29", "New"}
    (files / "now.csv").write_text("id,open\nc1,yes\nc77,yes\n")
    capsys.readouterr()
    assert run("update-live", *update) == 0
    said = capsys.readouterr()
    assert said.out == "cafes: open of 1 item\n"
    assert "1: no item has its key (line 3)" in said.err
    assert run("update-live", *update, "--max-bad-rows", "0") == 1
    assert run("update-live", *update[:-1], f"bars={files / 'now.csv'}") == 1


def test_devices_ask_for_what_they_do_not_hold(
    collect: Run, files: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More bytes, more live values or more items than a device holds."""
    for module, name, value, asked, bars in (
        (collect_run, "DEVICE_BYTES", 100, "devices ask for bars: all rows take ", "ask"),
        (cards, "LIVE_BYTES", 5, "devices ask for cafes: all live values take 6", "held"),
        (artifact, "MOST_HELD", 39, "devices ask: they hold no more than 39 items", "ask"),
    ):
        with monkeypatch.context() as smaller:
            smaller.setattr(module, name, value)
            assert collect(*SHOWN) == 0
            assert asked in capsys.readouterr().out
            modes = [part.mode for part in artifact.load(files / "model").card.collections]
        assert modes == ["ask", bars]
        shutil.rmtree(files / "model")


def test_results_hedge_over_what_the_columns_say_unless_wants_are_named(
    collect: Run, files: Path, capsys: Captured
) -> None:
    """Planted bugs: a number without a currency is a price; a named want is added to the default;
    a want of one file's column is asked of the other's.
    """
    columns = ("--attribute", "price=number:EUR", "--live", "open=flag")
    assert collect(*columns) == 0
    shown = capsys.readouterr().out
    wants = artifact.load(files / "model").card.collection("cafes").wants
    assert [(want.weight, want.word) for want in wants] == [*[(0.03, "")] * 5, (0.2, "yes")]
    assert [want.rate / wants[0].rate for want in wants[:5]] == pytest.approx(
        [1, 2.5, 5, 10, 20], rel=0.1
    )
    rates = ", ".join(f"{want.rate:g}" for want in wants[:5])
    assert f"wants      price: {rates} km a EUR, 3.0% of people each" in shown
    assert "wants      open: yes, 20.0% of people each" in shown
    assert "wants      distance alone: 65%" in shown
    named = ("--want", "price=.5:.1", "--want", "open=no:.2")
    wants = (Want("price", 0.1, rate=0.5), Want("open", 0.2, "no"))
    for arguments, expected in ((("--want", "none"), ()), (named, wants)):
        shutil.rmtree(files / "model")
        assert collect(*columns, *arguments) == 0
        assert artifact.load(files / "model").card.collection("cafes").wants == expected


def test_a_file_of_axes_may_lie_three_folders_deep(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its path has as many slashes as edges have."""
    monkeypatch.chdir(files)
    folder = files / "one/two/three"
    folder.mkdir(parents=True)
    (folder / "day.toml").write_text('[[axes]]\nname = "hour"\nunit = "h"\nlow = 0\nhigh = 24\n')
    (files / "offers.csv").write_text("name,hour\nBreakfast,8\nLunch,12.5\n")
    words = ("--region", "one/two/three/day.toml", "--collection", "offers=offers.csv")
    assert run("collect", *words, "--out", files / "model") == 0


def test_hours_are_those_of_a_week_that_may_be_named(run: Run, files: Path) -> None:
    """Planted bug: it is the week of today."""
    (files / "huts.csv").write_text("name,lat,lon,open\nHut,50,10,Jun-Aug 10:00-18:00; SH off\n")
    huts = ("--region", "47/5/55/16", "--collection", f"huts={files / 'huts.csv'}")
    for week, hours in (("2027-07-01", "10:00-18:00"), ("2027-09-06", "off")):
        model = files / week
        shown = ("--attribute", "open=hours", "--week", week, "--out", model)
        assert run("collect", *huts, *shown) == 0
        [hut] = artifact.load(model).collections["huts"].listings([0])
        assert hut.values == (hours,)


def test_without_towns_the_rule_is_items_which_may_lie_anywhere_on_earth(
    collect: Run, files: Path
) -> None:
    """Planted bug: the limit of the device's plane is laid on where a server's items lie."""
    assert collect("--source", "made up", "--region", "-90/-180/90/180") == 0
    card = artifact.load(files / "model").card
    assert (card.rule, card.density) == ("items", "none")
    assert card.collection("bars").source == "made up"
    assert card.collection("cafes").n_items == 31
    assert isinstance(card.space, MapSpace)
    assert card.space.area.goes_around


@pytest.mark.parametrize(
    ("code", "arguments", "said"),
    [
        (USAGE, ("--region", "DE"), "only devices know countries by name"),
        (USAGE, ("--region", "47/5/55/5"), "between two meridians"),
        (USAGE, (*SHOWN, "--live", "price"), "'--live': it must be a column that --attr"),
        (USAGE, ("--collection", "cafes"), "NAME=FILE"),
        (USAGE, ("--attribute", "prize"), "--attribute"),
        (USAGE, (*SHOWN, "--want", "price=cheap:.1"), "--want"),
        (USAGE, (*SHOWN, "--want", "open=yes"), "--want"),
        (FAILED, ("--max-bad-rows", "0"), "values are unknown, and --max-bad-rows 0 refuses that"),
        (FAILED, ("--collection", "cafes=none.csv"), "there is no such file"),
        (FAILED, ("--collection", "cafes={files}/bars.csv"), "the collections must be"),
        (FAILED, ("--towns", "{files}/bars.csv"), "no column population or people"),
    ],
)
def test_what_makes_no_model_is_one_line_and_writes_nothing(
    collect: Run, files: Path, capsys: Captured, code: int, arguments: tuple[str, ...], said: str
) -> None:
    """Planted bug: the model is written all the same."""
    assert collect(*[text.format(files=files) for text in arguments]) == code
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("Error: " if code == USAGE else "askew-server: ")
    assert said in last
    assert not (files / "model").exists()


def test_a_model_of_collections_is_none_of_ratings(
    collect: Run, run: Run, files: Path, capsys: Captured
) -> None:
    assert collect() == 0
    (files / "ratings.csv").write_text("user,item,rating\n1,1,5\n")
    assert run(
        "update", "--model", files / "model", "--ratings", files / "ratings.csv", "--out", "u"
    )
    assert "a model of ratings: this one has collections" in capsys.readouterr().err


STOPPED = """
import os, signal
from askew_server.cli.main import main
from askew_server.collections import intake
from askew_server.ratings import reader

intake._plain = reader._keys = lambda *_: os.kill(os.getpid(), signal.SIGTERM)
main()
"""


@pytest.mark.parametrize(
    "command",
    [
        ("collect", "--region", "47/5/55/16", "--collection", "cafes=cafes.csv"),
        pytest.param(("train", "--ratings", "ratings.csv"), marks=pytest.mark.slow),
    ],
    ids=["collect", "train"],
)
def test_a_command_that_is_stopped_while_it_reads_leaves_no_model(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    """Planted bug: SIGTERM ends the process at once, without a word."""
    (tmp_path / "cafes.csv").write_text("name,latitude,longitude\nA,50,10\n")
    (tmp_path / "ratings.csv").write_text("user,item,rating\n1,2,3\n")
    program = [sys.executable, "-c", STOPPED, *command, "--out", "model"]
    done = subprocess.run(program, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, (tmp_path / "model").exists()) == (143, False), done.stderr
    assert done.stderr.splitlines()[-1] == "stopped"

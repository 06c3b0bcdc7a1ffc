"""What train and update leave out is said at once, before any work is lost on it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., int]
Say = Callable[..., list[str]]
DRAW = random.Random(1)
# Of twelve items by sixty people, and then ten likes of two items that few rated.
RATINGS = [
    (f"p{unit}", f"i{item}", DRAW.randint(1, 5))
    for unit in range(60)
    for item in DRAW.sample(range(12), 10)
]
RATINGS += [(f"p{unit}", f"rare{unit % 2}", 5) for unit in range(10)]
KEYS = [*(f"i{n}" for n in range(12)), "rare0", "rare1"]


def share_of_likes(*items: str) -> str:
    """As the commands write it."""
    likes = [item for _, item, rating in RATINGS if rating == 5]
    return f"{sum(item in items for item in likes) / len(likes):.1%}"


def write(ratings: list[tuple[str, str, int]]) -> None:
    lines = "".join(f"{user},{item},{rating}\n" for user, item, rating in ratings)
    Path("ratings.csv").write_text("user,item,rating\n" + lines)


@pytest.fixture
def say(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Say:
    """A command in a folder with these ratings: its lines about items."""
    monkeypatch.chdir(tmp_path)
    write(RATINGS)

    def lines(command: str) -> list[str]:
        assert run(*command.split()) == 0
        return [line for line in capsys.readouterr().err.splitlines() if "rated items" in line]

    return lines


def test_titles_of_another_data_set_are_noticed(say: Say) -> None:
    """Planted bug: 'item i0' in place of every title, without a word."""
    train = "train --ratings ratings.csv --like-from 5 --min-ratings 1 --items titles.csv --out"
    Path("titles.csv").write_text("item,title\n" + "".join(f"other {key},A\n" for key in KEYS))
    [line] = say(f"{train} a")
    assert line.startswith("warning: 14 of 14 rated items have no row in titles.csv, and are shown")
    assert line.endswith("as 'item i0': are its ids those of the ratings?")
    Path("titles.csv").write_text("item,title\n" + "".join(f"{key},A {key}\n" for key in KEYS))
    assert say(f"{train} b") == []


def test_items_that_are_left_out_are_told_with_the_share_of_likes_that_is_lost(say: Say) -> None:
    """A tenth of the likes and more is a warning. Planted bugs: the share of ratings in place of
    likes; of what is kept.
    """
    train = "train --ratings ratings.csv --out"
    [line] = say(f"{train} a --like-from 5 --min-ratings 6")
    share = share_of_likes("rare0", "rare1")
    reason = "fewer than 6 ratings (--min-ratings)"
    assert line == f"2 of 14 rated items are left out, with {share} of the likes: {reason}"
    assert share != f"{10 / len(RATINGS):.1%}"
    assert say(f"{train} model --like-from 5 --min-ratings 5") == []
    write([(user, item.replace("i1", "j1"), rating) for user, item, rating in RATINGS])
    [line] = say(f"{train} b --model model")
    lost = f"3 of 14 rated items are left out, with {share_of_likes('i1', 'i10', 'i11')} of the"
    assert line == f"warning: {lost} likes: the model of --model does not have them"
    write(RATINGS[:-2])  # four ratings of each rare item
    [line] = say("update --model model --ratings ratings.csv --out next")
    assert line.startswith("2 of 14 rated items are left out, with ")
    assert line.endswith(" of the likes: fewer than 5 ratings, as the model was trained")

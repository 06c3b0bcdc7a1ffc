"""What train and update leave out is said at once, before any work is lost on it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

Say = Callable[..., str]


def some_ratings() -> list[tuple[str, str, int]]:
    """Of twelve items by sixty people, and then ten likes of two items that few rated."""
    draw = random.Random(1)
    rows = [
        (f"p{unit}", f"i{item}", draw.randint(1, 5))
        for unit in range(60)
        for item in draw.sample(range(12), 10)
    ]
    return rows + [(f"p{unit}", f"rare{unit % 2}", 5) for unit in range(10)]


def share_of_likes(*items: str) -> str:
    """As the commands write it."""
    likes = [item for _, item, rating in some_ratings() if rating == 5]
    return f"{sum(item in items for item in likes) / len(likes):.1%}"


@pytest.fixture
def say(
    run: Callable[..., int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Say:
    """A command in a folder with these ratings, and titles of these items and of others."""
    monkeypatch.chdir(tmp_path)
    lines = "".join(f"{user},{item},{rating}\n" for user, item, rating in some_ratings())
    Path("ratings.csv").write_text("user,item,rating\n" + lines)
    keys = [f"i{n}" for n in range(12)] + ["rare0", "rare1"]
    for name, start in (("films.csv", ""), ("others.csv", "another ")):
        titles = "".join(f"{start}{key},Film {key}\n" for key in keys)
        Path(name).write_text("item,title\n" + titles)

    def told(*arguments: str) -> str:
        assert run(*arguments) == 0
        return capsys.readouterr().err

    return told


def train(say: Say, out: str, *more: str) -> list[str]:
    """The lines that train says of what is lost."""
    least = () if "--model" in more else ("--like-from", "5")
    said = say("train", "--ratings", "ratings.csv", "--out", out, *least, *more)
    return [line for line in said.splitlines() if "rated items" in line]


def test_titles_of_another_data_set_are_noticed(say: Say) -> None:
    """Planted bug: 'item i0' in place of every title, without a word."""
    [line] = train(say, "a", "--min-ratings", "1", "--items", "others.csv")
    assert line.startswith("warning: 14 of 14 rated items have no row in others.csv, and are shown")
    assert line.endswith("as 'item i0': are its ids those of the ratings?")
    assert train(say, "b", "--min-ratings", "1", "--items", "films.csv") == []


def test_rare_items_are_left_out_with_the_share_of_likes_that_is_lost(say: Say) -> None:
    """Planted bugs: the share of ratings in place of likes; of what is kept."""
    [line] = train(say, "a", "--min-ratings", "6")
    share = share_of_likes("rare0", "rare1")
    reason = "fewer than 6 ratings (--min-ratings)"
    assert line == f"2 of 14 rated items are left out, with {share} of the likes: {reason}"
    assert share != f"{10 / len(some_ratings()):.1%}"


def test_ratings_that_match_nothing_are_noticed(say: Say, tmp_path: Path) -> None:
    """Of a model whose vectors are taken. A tenth of the likes and more is a warning."""
    train(say, "model", "--min-ratings", "1")
    renamed = (tmp_path / "ratings.csv").read_text().replace(",i1", ",j1")
    share = share_of_likes("i1", "i10", "i11")
    lost = f"warning: 3 of 14 rated items are left out, with {share} of the likes: "
    (tmp_path / "ratings.csv").write_text(renamed)
    [fixed] = train(say, "c", "--model", "model")
    assert fixed == lost + "the model of --model does not have them"


def test_an_update_says_what_is_rated_too_seldom_now(say: Say, tmp_path: Path) -> None:
    train(say, "model", "--min-ratings", "5")
    lines = (tmp_path / "ratings.csv").read_text().splitlines(keepends=True)
    (tmp_path / "ratings.csv").write_text("".join(lines[:-2]))  # four ratings of each rare item
    said = say("update", "--model", "model", "--ratings", "ratings.csv", "--out", "next")
    [line] = [line for line in said.splitlines() if "left out" in line]
    assert line.startswith("2 of 14 rated items are left out, with ")
    assert line.endswith(" of the likes: fewer than 5 ratings, as the model was trained")

"""Ratings from other programs' files: what is read, and what is refused without naming a title."""

from __future__ import annotations

import zipfile
from pathlib import Path
from textwrap import dedent

import pytest

from askew.errors import ProfileError
from askew_client.profile.files import read_export, read_titles

RATINGS = "userId,movieId,rating,timestamp\n7,1,4.0,964982703\n7,3,0.5,964981247\n"
MOVIES = 'movieId,title,genres\n1,Toy Story (1995),Animation\n3,"Matrix, The (1999)",Action\n'
EDITS = {"Toy Story (1995)": (4.0,), "Matrix, The (1999)": (0.5,)}


def written(directory: Path, ratings: str = RATINGS, movies: str = MOVIES) -> Path:
    directory.mkdir()
    (directory / "ratings.csv").write_text(ratings, encoding="utf-8-sig")
    (directory / "movies.csv").write_text(movies, encoding="utf-8")
    return directory


def zipped(path: Path, **texts: str | bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in texts.items():
            archive.writestr(f"ml-export/{name}.csv", text)
    return path


def test_movielens_ratings_are_read_with_the_titles_of_movies_csv_beside_them(
    tmp_path: Path,
) -> None:
    assert read_export(zipped(tmp_path / "ml.zip", ratings=RATINGS, movies=MOVIES)) == EDITS
    directory = written(tmp_path / "ml")
    assert read_export(directory / "ratings.csv") == EDITS
    (directory / "movies.csv").unlink()
    half = zipped(tmp_path / "half.zip", ratings=RATINGS)
    for path in (directory, directory / "ratings.csv", half):
        with pytest.raises(ProfileError, match=r"put MovieLens' movies\.csv beside it"):
            read_export(path)


def test_one_person_of_a_data_set_is_chosen_by_their_number(tmp_path: Path) -> None:
    """Planted bug: all people of a research data set are one very odd person."""
    path = written(tmp_path / "ml", ratings=RATINGS + "8,1,3.0,0\n")
    with pytest.raises(
        ProfileError, match=r"line 4 of ratings\.csv: the file has a second person.*`--user`"
    ):
        read_export(path)
    assert read_export(path, "7") == EDITS
    assert read_export(path / "ratings.csv", "8") == {"Toy Story (1995)": (3.0,)}
    with pytest.raises(ProfileError, match="no ratings of this userId"):
        read_export(path, "9")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must begin with"),
        ("title,rating\nSecret,adored\n", "line 2 of .* a number"),
        ("title,rating\nSecret,nan\n", "line 2 .* a number"),
        ("title,rating\nSecret,1,2\n", "line 2 .* more or fewer"),
        ("Secret,4.25\n", "must begin with"),
        (f"title,rating\n{'x' * 200_000},5\n", "line 2 of .* is no csv"),
        ('title,rating\n"Moon",5\n\nSecret,adored\n', "line 4 of"),
        ("title,rating\n,4\n", "line 2 .* printable"),
        ("title,rating\nSec\x1bret,4\n", "line 2 .* printable"),
        ('title,rating\n"Secret,4\n', "line"),
    ],
)
def test_a_bad_csv_is_refused_by_line(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(text)
    with pytest.raises(ProfileError, match=reason) as refusal:
        read_export(path)
    assert "Sec" not in str(refusal.value)
    assert "adored" not in str(refusal.value)
    assert "4.25" not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None or refusal.value.__suppress_context__


def test_titles_and_ratings_are_read() -> None:
    """Columns in any order and more of them, blanks, quotes, many scripts, numbers beyond every
    scale, no rating for a like; the last rating of a title counts.
    """
    text = """rating, id, title

    5, 1, Alien
    ,2,Moon (2009)
    3,3,"Crouching ""Tiger"", Hidden"
    4,4,می\u200cشود
    100,5,Soft\u00adly

    4,6,  Alien
    """
    assert read_titles(dedent(text).splitlines()) == {
        "Alien": (4.0,),
        "Moon (2009)": (None,),
        'Crouching "Tiger", Hidden': (3.0,),
        "می\u200cشود": (4.0,),
        "Soft\u00adly": (100.0,),
    }
    assert read_titles(["title,rating"]) == {}


@pytest.mark.parametrize(
    ("ratings", "movies", "reason"),
    [
        (RATINGS + "7,99,1.0,0\n", MOVIES, "movies.csv has no movie of this movieId"),
        (RATINGS, "id,name\n", "movies.csv must begin with"),
        ("userId,movieId,rating\n7,1,great\n", MOVIES, "line 2 of ratings.csv: a rating"),
    ],
)
def test_an_export_that_does_not_fit_together_is_refused(
    tmp_path: Path, ratings: str, movies: str, reason: str
) -> None:
    with pytest.raises(ProfileError, match=reason):
        read_export(written(tmp_path / "ml", ratings, movies))


LETTERBOXD = (
    "Date,Name,Year,Letterboxd URI,Rating\n"
    "2024-01-02,Alien,1979,https://boxd.it/2awY,4.5\n"
    '2024-01-03,"Crouching Tiger, Hidden Dragon",2000,https://boxd.it/29He,.5\n'
    "2024-01-04,Untitled,,https://boxd.it/x,3\n"
)


def test_what_letterboxd_exports_is_read(tmp_path: Path) -> None:
    """Its zip with files that are no ratings, and that unpacked."""
    directory = tmp_path / "unpacked"
    directory.mkdir()
    (directory / "ratings.csv").write_text(LETTERBOXD)
    file = zipped(tmp_path / "box.zip", ratings=LETTERBOXD, diary="Date,Name\n", profile="a\n")
    for path in (directory, file):
        assert read_export(path) == {
            "Alien (1979)": (4.5,),
            "Crouching Tiger, Hidden Dragon (2000)": (0.5,),
            "Untitled": (3.0,),
        }


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "the export has no ratings.csv"),
        ({"ratings": RATINGS, "movies": MOVIES, "more/ratings": ""}, "two files ratings"),
        ({"ratings": "title,rating\nAm\xe9lie,4\n".encode("latin-1")}, "is not text in UTF-8"),
    ],
)
def test_a_zip_without_the_right_files_is_refused(
    tmp_path: Path, files: dict[str, str | bytes], said: str
) -> None:
    with pytest.raises(ProfileError, match=said):
        read_export(zipped(tmp_path / "own.zip", **files))
    (tmp_path / "own.zip").write_bytes(b"PK\x03\x04broken")
    with pytest.raises(ProfileError):
        read_export(tmp_path / "own.zip")


@pytest.mark.parametrize("form", ["csv", "directory", "zip"])
def test_only_what_unpacks_a_zip_calls_it_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Planted bug: any ValueError of a csv is called a zip file that cannot be read."""
    path = {
        "csv": lambda: written(tmp_path / "own") / "ratings.csv",
        "directory": lambda: written(tmp_path / "own"),
        "zip": lambda: zipped(tmp_path / "own.zip", ratings=RATINGS, movies=MOVIES),
    }[form]()

    def broken(*_: object, **__: object) -> None:
        raise ValueError("of another kind")

    monkeypatch.setattr("askew_client.profile.files._rows", broken)
    with pytest.raises(ValueError, match="of another kind"):
        read_export(path)


def test_a_zip_that_unpacks_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askew_client.profile.files._MAX_BYTES", 1000)
    path = zipped(tmp_path / "bomb.zip", ratings=RATINGS + "x" * 2000, movies=MOVIES)
    with pytest.raises(ProfileError, match="larger than"):
        read_export(path)

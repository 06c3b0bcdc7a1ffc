"""Ratings from other programs' files: what is read, and what is refused without naming a title."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from askew.errors import ProfileError
from askew_client.profile.document import State
from askew_client.profile.files import read_export, read_titles

RATINGS = "userId,movieId,rating,timestamp\n7,1,4.0,964982703\n7,3,0.5,964981247\n"
MOVIES = 'movieId,title,genres\n1,Toy Story (1995),Animation\n3,"Matrix, The (1999)",Action\n'
EDITS = {"Toy Story (1995)": (4.0,), "Matrix, The (1999)": (0.5,)}


def written(directory: Path, ratings: str = RATINGS, movies: str = MOVIES) -> Path:
    directory.mkdir()
    (directory / "ratings.csv").write_text(ratings, encoding="utf-8-sig")
    (directory / "movies.csv").write_text(movies, encoding="utf-8")
    return directory


def zipped(path: Path, **texts: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in texts.items():
            archive.writestr(f"ml-export/{name}.csv", text)
    return path


def test_a_movielens_zip_is_read(tmp_path: Path) -> None:
    assert read_export(zipped(tmp_path / "ml.zip", ratings=RATINGS, movies=MOVIES)) == EDITS


def test_movielens_ratings_csv_is_read_by_its_own_name(tmp_path: Path) -> None:
    """Before: refused, since it has no titles. Those stand in movies.csv beside it."""
    directory = written(tmp_path / "ml")
    assert read_export(directory / "ratings.csv") == EDITS
    (directory / "movies.csv").unlink()
    for path in (directory, directory / "ratings.csv"):
        with pytest.raises(ProfileError, match=r"put MovieLens' movies\.csv beside it"):
            read_export(path)


def test_a_csv_with_more_columns_is_read_and_an_empty_rating_is_a_like(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("movie_id,title,rating\n1,Toy Story (1995),4\n2,Moon (2009),\n")
    assert read_export(path) == {"Toy Story (1995)": (4.0,), "Moon (2009)": (None,)}


def test_the_ratings_of_two_people_are_refused(tmp_path: Path) -> None:
    """Planted bug: a research data set that becomes one very odd person."""
    path = written(tmp_path / "ml", ratings=RATINGS + "8,1,3.0,0\n")
    with pytest.raises(
        ProfileError, match=r"line 4 of ratings\.csv: the file has a second person.*`--user`"
    ):
        read_export(path)


def test_one_person_of_a_data_set_is_chosen_by_their_number(tmp_path: Path) -> None:
    """Planted bug: all people of the data set are one."""
    path = written(tmp_path / "ml", ratings=RATINGS + "8,1,3.0,0\n")
    assert read_export(path, "7") == EDITS
    assert read_export(path / "ratings.csv", "8") == {"Toy Story (1995)": (3.0,)}
    with pytest.raises(ProfileError, match="no ratings of this userId"):
        read_export(path, "9")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must begin with"),
        ("name,stars\nSecret,1\n", "must begin with"),
        ("title,rating\nSecret,adored\n", "line 2 of .* a number"),
        ("title,rating\nSecret,inf\n", "line 2 of .* a number"),
        ("title,rating\nSecret,nan\n", "line 2 .* a number"),
        ("title,rating\nSecret,1e999\n", "line 2 .* a number"),
        ("title,rating\nSecret,1,2\n", "line 2 .* more or fewer"),
        ("Secret,4.25\n", "must begin with"),
        (f"title,rating\n{'x' * 200_000},5\n", "line 2 of .* is no csv"),
        (f"title,rating,{'x' * 200_000}\nSecret,5\n", "line 1 of .* is no csv"),
        ('title,rating\n"Moon",5\n\nSecret,adored\n', "line 4 of"),
        ("title,rating\nSecret\n", "line 2 .* more or fewer"),
        ("title,rating\n,4\n", "line 2 .* printable"),
        ("title,rating\nSec\x1bret,4\n", "line 2 .* printable"),
        ("title,rating\nSec\u202eret,4\n", "line 2 .* printable"),
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


UNDERSTOOD: dict[str, tuple[str, dict[str, State]]] = {
    "spaces around": ("title, rating\n  Alien , 4 \n", {"Alien": (4.0,)}),
    "a quoted comma": (
        'title,rating\n"Crouching Tiger, Hidden",3\n',
        {"Crouching Tiger, Hidden": (3.0,)},
    ),
    "a quoted quote": ('title,rating\n"The ""Quoted"" One",3\n', {'The "Quoted" One': (3.0,)}),
    "columns in another order": ("rating,title\n1,Alien\n", {"Alien": (1.0,)}),
    "titles of many scripts": (
        "title,rating\nمی\u200cشود,4\n👨\u200d👩\u200d👧,3\nSoft\u00adly,2\n",
        {"می\u200cشود": (4.0,), "👨\u200d👩\u200d👧": (3.0,), "Soft\u00adly": (2.0,)},
    ),
    "blank lines": ("title,rating\n\nAlien,5\n\n", {"Alien": (5.0,)}),
    "a header alone": ("title,rating\n", {}),
    "a number beyond every scale": ("title,rating\nAlien,100\n", {"Alien": (100.0,)}),
    "the last rating of a title counts": (
        "title,rating\nAlien,1\nSolaris,2\nAlien,4\n",
        {"Alien": (4.0,), "Solaris": (2.0,)},
    ),
}


@pytest.mark.parametrize("case", UNDERSTOOD)
def test_titles_and_ratings_are_read(case: str) -> None:
    text, expected = UNDERSTOOD[case]
    assert read_titles(text.splitlines()) == expected


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


def test_a_directory_or_zip_without_the_two_files_is_refused(tmp_path: Path) -> None:
    half = zipped(tmp_path / "half.zip", ratings=RATINGS)
    for path, said in {
        tmp_path: "the export has no ratings.csv",
        half: "ratings.csv has no titles: put MovieLens' movies.csv beside it",
    }.items():
        with pytest.raises(ProfileError, match=said):
            read_export(path)


LETTERBOXD = (
    "Date,Name,Year,Letterboxd URI,Rating\n"
    "2024-01-02,Alien,1979,https://boxd.it/2awY,4.5\n"
    '2024-01-03,"Crouching Tiger, Hidden Dragon",2000,https://boxd.it/29He,.5\n'
    "2024-01-04,Untitled,,https://boxd.it/x,3\n"
)
OF_LETTERBOXD = {
    "Alien (1979)": (4.5,),
    "Crouching Tiger, Hidden Dragon (2000)": (0.5,),
    "Untitled": (3.0,),
}


def test_what_letterboxd_exports_is_read(tmp_path: Path) -> None:
    """Its file, its zip with files that are no ratings, and that unpacked."""
    directory = tmp_path / "unpacked"
    directory.mkdir()
    (directory / "ratings.csv").write_text(LETTERBOXD)
    file = zipped(tmp_path / "box.zip", ratings=LETTERBOXD, diary="Date,Name\n", profile="a\n")
    for path in (directory / "ratings.csv", directory, file):
        assert read_export(path) == OF_LETTERBOXD


def test_an_export_with_two_files_of_ratings_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "two.zip", ratings=RATINGS, movies=MOVIES)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("another/ratings.csv", RATINGS)
    with pytest.raises(ProfileError, match=r"this export has two files ratings\.csv"):
        read_export(path)


@pytest.mark.parametrize("data", [b"PK\x05\x06" + bytes(18), b"PK\x03\x04broken", b"\xff\xfe"])
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file.zip"
    path.write_bytes(data)
    with pytest.raises(ProfileError):
        read_export(path)


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


def test_a_zip_of_another_encoding_is_said_to_be_no_utf8(tmp_path: Path) -> None:
    """And not to be damaged. UnicodeDecodeError is a ValueError too."""
    path = tmp_path / "own.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ratings.csv", "title,rating\nAmélie,4\n".encode("latin-1"))
    with pytest.raises(ProfileError, match="is not text in UTF-8"):
        read_export(path)


def test_a_zip_that_unpacks_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askew_client.profile.files._MAX_BYTES", 1000)
    path = zipped(tmp_path / "bomb.zip", ratings=RATINGS + "x" * 2000, movies=MOVIES)
    with pytest.raises(ProfileError, match="larger than"):
        read_export(path)

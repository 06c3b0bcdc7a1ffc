"""A folder of ratings is its files one after the other, in the order of their names."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from server.ratings.rating_files import plain, write_parquet

from askew.errors import DataError
from askew_server.ratings import BadRow, Rejects, read_ratings

HEADER = "user,item,rating\n"


def folder_of(tmp_path: Path, **files: str) -> Path:
    folder = tmp_path / "parts"
    folder.mkdir()
    for name, rows in files.items():
        (folder / f"{name}.csv").write_text(HEADER + rows)
    return folder


def test_people_are_in_the_order_of_names_and_rows(tmp_path: Path) -> None:
    """Planted bug: files in the order in which a disk lists them, or codes of one file alone."""
    folder = folder_of(tmp_path, b="ada,9,1\nbob,10,2\n", a="cy,10,3\nada,2,4\n")
    table, rejects = read_ratings(folder)
    expected = ([0, 1, 1, 2], [2, 0, 1, 2], [3.0, 4.0, 1.0, 2.0], 3, ("2", "9", "10"))
    assert (expected, Rejects(0, ())) == (plain(table), rejects)


@pytest.mark.parametrize("kind", ["csv.gz", "parquet", "ratings.dat"])
def test_folders_of_other_kinds_are_read(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for name, user in (("1", "ada"), ("2", "bob")):
        path = folder / f"{name}.{kind}"
        if kind == "parquet":
            select = f"SELECT '{user}' AS \"user\", 7 AS item, 3 AS rating"
            write_parquet(path, select)
        elif kind == "csv.gz":
            path.write_bytes(gzip.compress(f"{HEADER}{user},7,3\n".encode()))
        else:
            path.write_text(f"{user}::7::3::0\n")
    table, _ = read_ratings(folder)
    assert plain(table) == ([0, 1], [0, 0], [3.0, 3.0], 2, ("7",))


def test_a_bad_row_is_told_with_its_own_file_and_line(tmp_path: Path) -> None:
    """Planted bug: the name of the folder, or lines counted on from file to file."""
    folder = folder_of(tmp_path, a="ada,9,1\n", b="bob,10,2\nbob\nbob,x,none\n")
    _, rejects = read_ratings(folder)
    path = str(folder / "b.csv")
    fields = BadRow(path, 3, "row must be 3 fields separated by ',', got 'bob'")
    number = BadRow(path, 4, "rating must be a finite number, got 'none'")
    assert rejects == Rejects(2, (fields, number))


def test_what_is_rated_again_in_another_file_is_told_with_both(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, a="bob,9,1\n\nada,9,1\n", b="x\nada,9,2\nada,9,3\n")
    table, rejects = read_ratings(folder)
    again = [bad for bad in rejects.examples if bad.reason.startswith("rated again")]
    assert again == [
        BadRow(str(folder / "a.csv"), 4, "rated again on line 3 of b.csv"),
        BadRow(str(folder / "b.csv"), 3, "rated again on line 4"),
    ]
    assert (rejects.count, table.rating.tolist()) == (4, [1.0, 3.0])


def test_another_scale_is_told_with_the_file(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, a="ada,9,1\n", b="bob,10,2000\n")
    with pytest.raises(DataError, match=r"parts/b\.csv, line 2: a rating must be between"):
        read_ratings(folder)


def test_a_folder_without_a_good_row_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, a="", b=",9,1\n")
    reason = r"parts: no usable rating in the folder, bad rows: 1; b\.csv, line 2: user must be"
    with pytest.raises(DataError, match=reason):
        read_ratings(folder)


def test_progress_grows_to_the_size_of_all_files(tmp_path: Path) -> None:
    """Planted bug: each file from nothing to its own size."""
    folder = folder_of(tmp_path, a="ada,9,1\n", b="bob,10,2\n")
    told: list[tuple[int, int]] = []
    read_ratings(folder, progress=lambda done, total: told.append((done, total)))
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert told[-1] == (size, size)
    assert sorted(told) == told


def _link(folder: Path) -> None:
    (folder / "z.csv").symlink_to(folder / "a.csv")


def _parquet(folder: Path) -> None:
    select = 'SELECT 1 AS "user", 7 AS item, 3 AS rating'
    write_parquet(folder / "z.parquet", select)


UNFIT: dict[str, tuple[Callable[[Path], object], str]] = {
    "a hidden file": (
        lambda folder: (folder / ".a.csv.crc").write_text("x"),
        r"parts: a folder holds files of ratings alone; \.a\.csv\.crc is hidden",
    ),
    "a link": (_link, r"ratings alone; z\.csv is a symbolic link"),
    "a folder": (lambda folder: (folder / "z").mkdir(), "ratings alone; z is a folder"),
    "another kind of file": (
        lambda folder: (folder / "movies.csv").write_text("movieId,title,genres\n"),
        r"movies\.csv: not a known format of ratings",
    ),
    "an empty file": (
        lambda folder: (folder / "_SUCCESS").write_text(""),
        "_SUCCESS: the file is empty",
    ),
    "the same packed": (
        lambda folder: (folder / "a.csv.gz").write_bytes(gzip.compress(f"{HEADER}1,2,3".encode())),
        r"of one kind, and a\.csv is csv of 3 columns .*, a\.csv\.gz gzipped csv",
    ),
    "other columns": (
        lambda folder: (folder / "b.csv").write_text("item,user,rating\n1,2,3\n"),
        r"of one kind, .*timestamp: 1, 2, 3, none\), b\.csv .*timestamp: 2, 1, 3, none\)$",
    ),
    "parquet": (_parquet, r"of one kind, .*, z\.parquet parquet$"),
}


@pytest.mark.parametrize("case", UNFIT)
def test_a_folder_with_something_else_in_it_is_refused(tmp_path: Path, case: str) -> None:
    """Nothing is left out unseen, nothing is read twice, and no link leads elsewhere."""
    folder = folder_of(tmp_path, a="ada,9,1\n")
    add, reason = UNFIT[case]
    add(folder)
    with pytest.raises(DataError, match=reason):
        read_ratings(folder)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"parts: the folder is empty"):
        read_ratings(folder_of(tmp_path))


def test_people_are_in_the_order_of_their_first_rows(tmp_path: Path) -> None:
    """Planted bug: of their last rows."""
    table, _ = read_ratings(folder_of(tmp_path, a="bob,1,1\nada,2,1\nbob,3,1\n"))
    assert table.person.tolist() == [0, 1, 0]

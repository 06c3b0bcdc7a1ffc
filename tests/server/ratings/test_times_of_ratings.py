"""When a rating was made is kept for who asks, and stays with its rating."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from askew_server.ratings import RatingTable, read_ratings

ROWS = [("a", "x", 5, 30), ("b", "y", 4, 10), ("a", "y", 3, 20), ("a", "x", 2, 40)]
CSV = "user,timestamp,item,rating\n" + "".join(f"{u},{t},{i},{r}\n" for u, i, r, t in ROWS)


def times(table: RatingTable) -> dict[tuple[int, str], float]:
    assert table.time is not None
    keys = [table.item_keys[item] for item in table.item]
    return dict(zip(zip(table.person.tolist(), keys, strict=True), table.time, strict=True))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.csv", CSV),
        ("ratings.dat", "".join(f"{u}::{i}::{r}::{t}\n" for u, i, r, t in ROWS)),
        ("u.data", "".join(f"{u}\t{i}\t{r}\t{t}\n" for u, i, r, t in ROWS)),
    ],
)
def test_every_text_format_has_times(tmp_path: Path, name: str, text: str) -> None:
    """Of a rating that was made again, the last. Planted bug: times not left out with their row."""
    path = tmp_path / name
    path.write_text(text)
    table, rejects = read_ratings(path, times=True)
    assert times(table) == {(0, "x"): 40, (0, "y"): 20, (1, "y"): 10}
    assert rejects.count == 1
    assert read_ratings(path)[0].time is None


def test_parquet_has_times(tmp_path: Path) -> None:
    import duckdb

    (tmp_path / "r.csv").write_text(CSV)
    path = tmp_path / "r.parquet"
    duckdb.execute(f"COPY (FROM read_csv('{tmp_path}/r.csv')) TO '{path}' (FORMAT parquet)")
    table, _ = read_ratings(path, times=True)
    assert times(table) == {(0, "x"): 40, (0, "y"): 20, (1, "y"): 10}


@pytest.mark.parametrize("text", ["user,item,rating\na,x,5\n", CSV.replace("10", "yesterday")])
def test_a_time_that_nobody_knows_costs_no_rating(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.csv"
    path.write_text(text)
    table, _ = read_ratings(path, times=True)
    plain, _ = read_ratings(path)
    assert table.time is not None
    assert np.isnan(table.time).any()
    assert table.rating.tolist() == plain.rating.tolist()


def test_likes_of_counts_keep_their_times(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(CSV)
    table, _ = read_ratings(path, counts=1, times=True)
    assert times(table) == {(0, "x"): 30, (0, "y"): 20, (1, "y"): 10}

"""Vectors of four other models, each imported in the format that it is likely to come in.

    python benchmarks/bring_your_own.py ratings.dat movies.dat

SVD by scikit-learn, a two-tower model of plain numpy, and ALS and BPR of `implicit` where that is
installed (`pip install implicit`) learn from four of five people; `askew-server import` makes a
model of each; the fifth are the judges, with a fifth of their likes held out. Any ratings and items
files that `train` reads. Everything is seeded: the same files and versions give the same figures.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from askew_server.cli.main import cli
from askew_server.ratings import read_ratings
from askew_server.taste.model import artifact
from askew_server.taste.model.item_model import ItemModel
from askew_server.taste.training.factors import Histories, divisors, people_of
from askew_server.taste.training.given_vectors import for_devices
from askew_server.taste.training.item_vectors import often_rated
from askew_server.taste.training.space_fit import scale_of

DIMENSION = 64
RECALL = 20
SLATE = 8
_LEAST_LIKES = 20
Vectors = NDArray[np.floating[Any]]
Made = tuple[Vectors, Vectors | None]  # of items, and of users if the model has any


def truncated_svd(likes: csr_array, dimension: int) -> Made:
    """scikit-learn's TruncatedSVD: items are the right factors, each by the root of its weight."""
    from sklearn.decomposition import TruncatedSVD

    fitted = TruncatedSVD(dimension, random_state=0).fit(likes)
    return fitted.components_.T * np.sqrt(fitted.singular_values_), None


def two_tower(likes: csr_array, dimension: int, steps: int = 1500, batch: int = 512) -> Made:
    """Two towers with in-batch softmax: an item's is its row; a user's is a linear layer over the
    mean of the rows (others than those of the items) of what they like beside the target.

        u = A h,  h = mean of e_i over the history,  loss = -log softmax_j (<u, f_j> - log q_j)

    q_j is how often j is a target, so that scores are those of a full softmax. Adagrad.
    """
    rng = np.random.default_rng(0)
    likes = csr_array(likes[np.flatnonzero(likes.sum(axis=1) > 1)])
    n, pairs, counts = likes.shape[1], likes.tocoo(), likes.sum(axis=1)
    often = np.log(likes.sum(axis=0) + 1.0)
    shapes = ((n, dimension), (n, dimension), (dimension, dimension))
    e, f, a = (rng.normal(scale=0.1, size=shape) for shape in shapes)
    a += np.eye(dimension)
    sizes = [np.full(each.shape, 0.1) for each in (e, f, a)]
    for _ in range(steps):
        at = rng.choice(likes.nnz, batch)
        user, item = pairs.row[at], pairs.col[at]
        rows, weight = likes[user], 1.0 / (counts[user] - 1)[:, None]
        h = (rows @ e - e[item]) * weight
        u = h @ a
        logits = u @ f[item].T - often[item]
        logits[(item[:, None] == item[None, :]) & ~np.eye(batch, dtype=bool)] = -np.inf
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        error = odds / odds.sum(axis=1, keepdims=True) - np.eye(batch)
        du = error @ f[item]
        dh = du @ a.T * weight
        de, df = rows.T @ dh, np.zeros_like(f)
        np.add.at(de, item, -dh)
        np.add.at(df, item, error.T @ u)
        for parameter, gradient, size in zip((e, f, a), (de, df, h.T @ du), sizes, strict=True):
            np.add(size, gradient**2, out=size)
            np.subtract(parameter, 0.2 * gradient / np.sqrt(size), out=parameter)
    return f, (likes @ e) / counts[:, None] @ a


def implicit_als(likes: csr_array, dimension: int) -> Made:
    """Alternating least squares of the package `implicit`."""
    from implicit.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(dimension, random_state=0, iterations=10, use_gpu=False)
    model.fit(_for_implicit(likes), show_progress=False)
    return model.item_factors, model.user_factors


def implicit_bpr(likes: csr_array, dimension: int) -> Made:
    """Bayesian personalized ranking of the package `implicit`; its last column is a bias."""
    from implicit.bpr import BayesianPersonalizedRanking

    model = BayesianPersonalizedRanking(
        dimension, random_state=0, iterations=60, use_gpu=False, num_threads=1
    )
    model.fit(_for_implicit(likes), show_progress=False)
    return model.item_factors, model.user_factors


def _for_implicit(likes: csr_array) -> Any:
    from scipy.sparse import csr_matrix  # it knows no other kind

    return csr_matrix(likes.astype(np.float32))


def as_npz(path: Path, keys: tuple[str, ...], vectors: Vectors) -> Path:
    """Arrays of numpy: `keys` as text."""
    np.savez(path.with_suffix(".npz"), keys=np.array(keys), vectors=vectors)
    return path.with_suffix(".npz")


def as_safetensors(path: Path, keys: tuple[str, ...], vectors: Vectors) -> Path:
    """Tensors: `keys` as whole numbers."""
    from safetensors.numpy import save_file

    numbers = np.array(keys, dtype=np.int64)
    narrow = np.ascontiguousarray(vectors, dtype=np.float16)
    save_file({"keys": numbers, "vectors": narrow}, path.with_suffix(".safetensors"))
    return path.with_suffix(".safetensors")


def as_parquet(path: Path, keys: tuple[str, ...], vectors: Vectors) -> Path:
    """A column of lists, as tables of embeddings have it."""
    import duckdb

    table = path.with_suffix(".parquet")
    rows = [(key, vector) for key, vector in zip(keys, vectors.tolist(), strict=True)]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE v (key VARCHAR, vector FLOAT[])")
        connection.executemany("INSERT INTO v VALUES (?, ?)", rows)
        connection.execute(f"COPY v TO '{table}' (FORMAT parquet)")
    return table


@dataclass(frozen=True)
class Example:
    """A model that somebody may have, and how its vectors are written."""

    name: str
    fit: Callable[[csr_array, int], Made]
    write: Callable[[Path, tuple[str, ...], Vectors], Path]
    needs: str = "sklearn"


EXAMPLES = (
    Example("TruncatedSVD", truncated_svd, as_npz),
    Example("two towers", two_tower, as_safetensors),
    Example("implicit ALS", implicit_als, as_parquet, "implicit"),
    Example("implicit BPR", implicit_bpr, as_npz, "implicit"),
)


@dataclass(frozen=True)
class Judges:
    """People that no model has seen: most of their ratings, and the likes held out."""

    shown: Histories
    held_out: NDArray[np.bool_] = field(repr=False)

    @classmethod
    def of(cls, people: Histories, rng: np.random.Generator) -> Judges:
        seen = people.seen.tocoo()
        kept = rng.random(seen.nnz) < 0.8
        mask = csr_array((seen.data[kept], (seen.row[kept], seen.col[kept])), shape=seen.shape)
        shown = Histories(csr_array(people.likes.multiply(mask)), mask)
        return cls(shown, (people.likes - shown.likes).toarray() > 0)

    def scores(self, vectors: Vectors) -> NDArray[np.float64]:
        """What items not yet seen are worth to them, by vectors that likes are folded in with."""
        likes = self.shown.likes
        tastes = (likes @ vectors.astype(np.float64)) / divisors(likes, _LEAST_LIKES)
        found: NDArray[np.float64] = tastes @ vectors.T
        found[self.shown.seen.toarray() > 0] = -np.inf
        return found

    def recall(self, vectors: Vectors) -> float:
        """Of the likes held out, the share among the best RECALL items, of at most so many."""
        best = np.argpartition(-self.scores(vectors), RECALL, axis=1)[:, :RECALL]
        hits, wanted = np.take_along_axis(self.held_out, best, 1).sum(1), self.held_out.sum(1)
        return float((hits[wanted > 0] / np.minimum(wanted[wanted > 0], RECALL)).mean())

    def kept(self, exact: Vectors, codes: Vectors) -> float:
        """Exact score of what codes pick, over that of the best."""
        wanted, pick = self.scores(exact), self.scores(codes).argmax(axis=1)
        got = wanted[np.arange(len(pick)), pick]
        return float(np.maximum(got, 0).sum() / np.maximum(wanted.max(axis=1), 0).sum())

    def slate(self, vectors: Vectors, slate: tuple[int, ...]) -> float:
        """What a slate for anybody is worth to them, of the best possible."""
        scores = np.maximum(self.scores(vectors), 0)
        return float(scores[:, list(slate)].max(axis=1).sum() / scores.max(axis=1).sum())


def imported(vectors: Path, items: Path, out: Path, *more: str) -> ItemModel:
    """The model that the command makes of them."""
    given = [str(vectors), "--items", str(items), "--out", str(out)]
    cli(["import", *given, *more], standalone_mode=False)
    return artifact.load(out)


def rows(ratings: Path, items: Path, folder: Path) -> Iterator[str]:
    """A row of figures a model."""
    table, _ = read_ratings(ratings)
    kept = often_rated(table, 20)
    keys = tuple(table.item_keys[item] for item in kept)
    people = people_of(table, kept, scale_of(table, None))
    rng = np.random.default_rng(0)
    aside = rng.random(table.n_people) < 0.2
    judges = Judges.of(Histories(people.likes[aside], people.seen[aside]), rng)
    for number, example in enumerate(EXAMPLES):
        if find_spec(example.needs) is None:
            yield f"{example.name:14} not run: {example.needs} is not installed"
            continue
        vectors, _ = example.fit(csr_array(people.likes[~aside]), DIMENSION)
        path = example.write(folder / f"vectors-{number}", keys, vectors)
        model = imported(path, items, folder / f"model-{number}")
        ridge = for_devices(vectors.astype(np.float64))
        place = {key: at for at, key in enumerate(keys)}
        order = [place[key] for key in model.keys]
        codes = np.empty_like(ridge)
        codes[order] = model.catalog.vectors
        slate = tuple(order[item] for item in model.catalog.shared_slate[:SLATE])
        yield (
            f"{example.name:14} {judges.recall(ridge):10.3f} {judges.recall(codes):10.3f} "
            f"{judges.kept(ridge, codes):10.4f} {judges.slate(codes, slate):10.3f} "
            f"{next(iter(model.figures.values()))['alone'].ndcg.mean:10.3f}"
        )


def main() -> None:
    ratings, items = map(Path, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        lines = [*rows(ratings, items, Path(folder))]
    print()
    print(f"recall@{RECALL} of likes held out; ratio of picks; slate of {SLATE}; its NDCG as told")
    print(f"{'':14} {'ridge':>10} {'4 bits':>10} {'ratio':>10} {'slate':>10} {'told':>10}")
    print(*lines, sep="\n")


if __name__ == "__main__":
    main()

"""A private model: all that is published of it is a function of one noisy matrix and public things.

    inputs    the noisy matrix (`askew.mechanisms.covariance`), the keys and words of a public
              catalog, and `PrivateParameters`
    items     by noisy row sums, vectors and boosts by symmetric EASE of the matrix
    the rest  by simulated people alone: codes, space, shared slate, figures, counts

So the model is as private as the matrix, (epsilon, delta) for a person's whole history, and its
making costs nothing more. No function here looks at a rating of a real person. The same inputs make
the same model, byte for byte: seeds are public. A figure says what *simulated* people gain, by whom
nothing was chosen; the card says so. Measuring it on real people is a use of their ratings that the
guarantee does not cover.

In units of 2**24, with n items of the catalog and noise of standard deviation sigma:

    people   N, the trace: each person with a like adds 1 to it
    likes    n_i, the sum of row i: each person who likes i adds 1 to it
    items    kept where n_i > 2 sigma sqrt(n), and 4 sigma sqrt(n) of 100,000 people or more
    noise    eigenvalues of the noise alone are below r = 2 sigma sqrt(n'), n' the items kept
    spectrum of an eigenvalue e stays (e + sqrt(max(e**2 - r**2, 0))) / 2, and none below .7 r
    factors  symmetric EASE of what stays (`ease`), lambda = 6e-4 of its trace

What stays has few eigenvectors U, so no matrix is inverted: the diagonal of P is
(1 - sum_k U_ik**2 e_k / (e_k + lambda)) / lambda. The rule was fixed on MovieLens 1M.

Simulated people: a threshold copula of r factors.

    m        a person's number of likes: log-normal, its mean that of the n_i / N
    z, e     normal: r of a person, one of each person and item
    likes i  where L_i z + sqrt(1 - |L_i|**2) e_i > t_i - a(m)

t and a give every item the share n_i / N and every m its likes. Correlations are the linear term
of the tetrachoric ones: given m, both i and j are liked with chance p_i p_j + L_i L_j f_i f_j,
f the density at the threshold. What is left of the matrix after the first term and the diagonal is
noise plus a matrix of low rank: its leading eigenvectors, with a spectrum as above, over f are L. A
model of these people reaches .97 to .98 of what the matrix's own does on MovieLens 1M.

How good a model will be follows from x = N / (sigma sqrt(n)) alone, which is public: eigenvalues of
the likes grow with N and those of the noise are below 2 sigma sqrt(n). On MovieLens 1M, with 1,500
and 3,000 items, epsilon from 1 to 8 and people multiplied, the share that is left of the NDCG@10 of
the model without noise followed x within .02. On that log, MovieLens 100K and its latest small one,
a model was worse than a list of what is popular below x of 15, about as good up to 28, and better
everywhere from 30 on. It is a rule of thumb of logs of films.

Sources: Gavish, Donoho 2017 (shrinking a spectrum); Emrich, Piedmonte 1991 (thresholds of normals
with given margins). Complexity: O(n**3), in single precision above `ease.DENSE_ITEMS` items: a
matrix of 10,000 takes about a minute of one processor, and 800 MB.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array, vstack
from scipy.special import ndtr, ndtri

from askew.dp.composition import concentrated_epsilon
from askew.errors import DataError, ParameterError
from askew.mechanisms.covariance import UNIT, NoisyCovariance
from askew.spaces.vectors import RatingScale
from askew_server.ratings import ItemRow, RatingTable
from askew_server.taste import ease
from askew_server.taste.imported_vectors import ratings_of_likes
from askew_server.taste.item_vectors import GivenVectors
from askew_server.taste.model import ItemModel, Step, train
from askew_server.taste.options import TrainingOptions, count_in_words

Matrix = NDArray[np.float64]
Noisy = NDArray[np.int64]
RANK = 64
_MANY = 100_000  # people
_SURE, _SURER = 2.0, 4.0  # noise of row sums, in standard deviations
_DROPPED = 0.7  # of r
_PENALTY = 6e-4  # of the trace
_LENGTHS = 16  # numbers of likes, alike in weight, that stand for their law
_SPREAD = 1.0  # the standard deviation of the logarithm of a person's number of likes
_ROUNDS = 200
_STEP = 0.5  # of a threshold, at most
_MOST_LIKED = 0.9  # of all people
_EXPLAINED = 0.8  # of the variance of a person's liking of an item, at most
_AT_ONCE = 1 << 22  # numbers: 32 MiB


@dataclass(frozen=True)
class PrivateParameters:
    """What is decided of a private model before anybody is looked at. Public.

    noise: of the matrix. scale: what people rate on. training: as of any model; its penalty,
    neighbors and least numbers of ratings have no effect.
    """

    noise: NoisyCovariance
    scale: RatingScale
    training: TrainingOptions = field(default_factory=TrainingOptions)


@dataclass(frozen=True, eq=False)
class KeptItems:
    """What a noisy matrix says at first sight, in units of 2**24.

    people: N, at least 1. total: the likes of all items. places: of the kept items in the catalog,
    ascending, (n',). likes: n_i of each. matrix: noisy, of the kept items, (n', n'). edge: r.
    """

    people: float
    total: float
    places: NDArray[np.int64] = field(repr=False)
    likes: Matrix = field(repr=False)
    matrix: Matrix = field(repr=False)
    edge: float


def items_above_noise(noisy: Noisy, parameters: PrivateParameters) -> KeptItems:
    """Return the KeptItems: those of more noisy likes than 2 sigma sqrt(n), n being the items of
    the matrix; 4 sigma sqrt(n) where its trace tells of 100,000 people or more. Raises
    DataError where they are no more than the space has dimensions.
    """
    likes, people = _row_sums(noisy), max(float(np.trace(noisy)) / UNIT, 1.0)
    sure = _SURER if people >= _MANY else _SURE
    least = sure * parameters.noise.sigma * math.sqrt(len(noisy))
    places = np.flatnonzero(likes > least)
    wanted = parameters.training.dimension
    if len(places) <= wanted:
        raise DataError(
            f"{len(places)} of {len(noisy)} items have more likes than the noise, {least:,.0f}; a "
            f"model of {wanted} dimensions needs {wanted + 1}: more people, a larger epsilon, or "
            "a smaller catalog"
        )
    matrix = noisy[np.ix_(places, places)] / UNIT
    edge = 2 * parameters.noise.sigma * math.sqrt(len(places))
    total = max(float(likes.sum()), float(likes[places].sum()))
    return KeptItems(people, total, places, likes[places], matrix, edge)


def fit_shrunk_factors(kept: KeptItems, parameters: PrivateParameters) -> ease.Factors:
    """Return the EASE factors of the matrix of kept items, its spectrum shrunk, of
    training.ranking_dimension, by default 64, dimensions, at most as many as eigenvalues stay, and
    fewer than kept items. Raises DataError where these are fewer than training.dimension.
    """
    values, axes = _shrunk_spectrum(kept.matrix, kept.edge)
    penalty = _PENALTY * float(values.sum())
    rank = min(parameters.training.ranking_dimension or RANK, len(values), len(axes) - 1)
    if rank < parameters.training.dimension:
        raise DataError(
            "what people like together is lost in the noise of this matrix: take more people, a "
            "larger epsilon or a smaller catalog"
        )
    diagonal = (1 - axes**2 @ (values / (values + penalty))) / penalty
    return ease.factors_of(lambda x: axes @ (values * (axes.T @ x).T).T, diagonal, penalty, rank)


def _row_sums(noisy: Noisy) -> Matrix:
    likes: Matrix = noisy.sum(axis=1, dtype=np.float64) / UNIT
    return likes


def _shrunk_spectrum(matrix: Matrix, edge: float) -> tuple[Matrix, Matrix]:
    # The eigenvalues above .7 of the edge r, ascending, and their eigenvectors, as columns.
    #
    # A tenth of noise's own eigenvalues stay, and lie so close together that iterations for the
    # leading ones hardly end. So a large matrix is reduced whole too, in single precision: that is
    # seven digits of the largest eigenvalue, more than noise leaves.
    exact = np.float64 if len(matrix) <= ease.DENSE_ITEMS else np.float32
    own: Matrix = np.array(matrix, dtype=exact, order="F")
    values, axes = eigh(own, subset_by_value=(_DROPPED * edge, np.inf), overwrite_a=True)
    values = np.asarray(values, dtype=np.float64)
    values = (values + np.sqrt(np.maximum(values**2 - edge**2, 0))) / 2
    return values, np.asarray(axes, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Copula:
    """The law of simulated people. thresholds: t (n,). moves: a, of numbers of likes that are alike
    in weight (_LENGTHS,). loadings: L (n, r).
    """

    thresholds: Matrix = field(repr=False)
    moves: Matrix = field(repr=False)
    loadings: Matrix = field(repr=False)

    @classmethod
    def of(cls, kept: KeptItems) -> Copula:
        """Return the law of simulated people that the kept items of a noisy matrix suggest: n
        `thresholds`, 16 `moves`, and `loadings` (n, r), r at most 64.
        """
        shares = np.clip(kept.likes / kept.people, 1 / kept.people, _MOST_LIKED)
        lengths = _lengths(shares)
        thresholds, moves = _margins(shares, lengths)
        at = moves[:, None] - thresholds
        chances, density = ndtr(at), _density(at)
        # left: the matrix, without what items have in common by their shares alone, and without the
        # variance of each item by itself. A person weighs 1 over all their likes, of which those of
        # kept items are a part.
        weights = float(kept.likes.sum()) / kept.total / (len(lengths) * lengths)
        left = (-kept.people * weights * chances.T) @ chances
        left += kept.matrix
        left.flat[:: len(left) + 1] -= kept.people * (weights @ (chances - chances**2))
        values, axes = _shrunk_spectrum(left, kept.edge)
        steep = np.sqrt(weights @ density**2)
        loadings = axes[:, -RANK:] * np.sqrt(values[-RANK:] / kept.people) / steep[:, None]
        size = (loadings**2).sum(axis=1, keepdims=True)
        return cls(thresholds, moves, loadings * np.sqrt(_EXPLAINED / np.maximum(size, _EXPLAINED)))

    def sample(self, count: int, rng: np.random.Generator) -> csr_array:
        """Draw the likes of `count` people, sparse (count, n) of ones. Everybody likes something,
        everything is liked by somebody: who comes nearest to it, where nobody would.
        """
        n, rank = self.loadings.shape
        alone = np.sqrt(1 - (self.loadings**2).sum(axis=1))
        step = max(_AT_ONCE // n, 1)
        parts, nearest, fans = [], np.full(n, -np.inf), np.zeros(n, dtype=np.int64)
        for start in range(0, count, step):
            size = min(step, count - start)
            liking = rng.choice(self.moves, size)[:, None] - self.thresholds
            liking += rng.standard_normal((size, rank)) @ self.loadings.T
            liking += alone * rng.standard_normal((size, n))
            first = liking.argmax(axis=0)
            nearer = liking[first, np.arange(n)] > nearest
            fans[nearer] = start + first[nearer]
            nearest = np.maximum(nearest, liking.max(axis=0))
            liking[np.arange(size), liking.argmax(axis=1)] = 1
            parts.append(csr_array((liking > 0).astype(np.float64)))
        likes = csr_array(vstack(parts, format="csr"))
        missing = np.flatnonzero(likes.sum(axis=0) == 0)
        ones = np.ones(len(missing))
        return csr_array(likes + csr_array((ones, (fans[missing], missing)), shape=likes.shape))


def _lengths(shares: Matrix) -> Matrix:
    # Numbers of likes, alike in weight, whose mean is the sum of the shares.
    mean = float(shares.sum())
    steps = np.exp(_SPREAD * ndtri((np.arange(_LENGTHS) + 0.5) / _LENGTHS))
    most = _MOST_LIKED * len(shares)
    lengths: Matrix = np.minimum(mean * steps / steps.mean(), most)
    for _ in range(_LENGTHS):  # what is cut at the top goes to the others
        lengths = np.minimum(lengths * mean / lengths.mean(), most)
    return lengths


def _margins(shares: Matrix, lengths: Matrix) -> tuple[Matrix, Matrix]:
    # Thresholds (n,) and moves (lengths,), by which items have these shares and people so many
    # likes: Newton's steps for one and for the other in turn.
    thresholds, moves = -ndtri(shares), np.zeros(len(lengths))
    for _ in range(_ROUNDS):
        at = moves[:, None] - thresholds
        moves -= _newton(ndtr(at).sum(axis=1) - lengths, _density(at).sum(axis=1))
        at = moves[:, None] - thresholds
        thresholds += _newton(ndtr(at).mean(axis=0) - shares, _density(at).mean(axis=0))
    return thresholds, moves


def _newton(error: Matrix, slope: Matrix) -> Matrix:
    step: Matrix = np.clip(error / np.maximum(slope, 1e-12), -_STEP, _STEP)
    return step


def _density(at: Matrix) -> Matrix:
    density: Matrix = np.exp(-(at**2) / 2) / math.sqrt(2 * math.pi)
    return density


_RISES = (30.0, 38.0, 70.0, 131.0, 189.0, 236.0, 379.0, 1023.0, 3790.0)  # x
_SHARES = (0.47, 0.53, 0.66, 0.77, 0.81, 0.85, 0.89, 0.96, 0.99)
WORTH_HAVING = _RISES[0]
GOOD = 379.0
"""x from which a model keeps about nine tenths."""


def expected_share(noise: NoisyCovariance, items: int, people: int) -> float | None:
    """Return the share of the NDCG@10 without noise that a model keeps, by x = people /
    (noise.sigma sqrt(items)): .47 at 30, .53 at 38, .66 at 70, .77 at 131, .81 at 189, .85 at 236,
    .89 at 379, .96 at 1,023, .99 from 3,790 on, and between these linear in log x; None below 30,
    where a list of what is popular does better.
    """
    rise = people / (noise.sigma * sqrt(items))
    if rise < WORTH_HAVING:
        return None
    return float(np.interp(np.log(rise), np.log(_RISES), _SHARES))


def people_for(noise: NoisyCovariance, items: int, rise: float) -> int:
    """Return how many people make x = people / (noise.sigma sqrt(items)) as large as `rise`: rise *
    noise.sigma * sqrt(items), rounded up.
    """
    return ceil(rise * noise.sigma * sqrt(items))


def epsilon_for(delta: Fraction, items: int, people: int, rise: float) -> float:
    """Return the epsilon at which so many people make x = people / (sigma sqrt(items)) as large as
    `rise`, with this delta; sigma is that of the noise.
    """
    sigma = people / (rise * sqrt(items))
    return float(concentrated_epsilon(Fraction(1 / (4 * sigma**2)), delta))


PEOPLE = 6000
"""Simulated people, by whom a space is fitted and modes are measured."""


def private_model(
    noisy: Noisy,
    keys: tuple[str, ...],
    rows: Mapping[str, ItemRow],
    parameters: PrivateParameters,
    *,
    step: Step = lambda _: None,
) -> ItemModel:
    """Return the model of a noisy matrix, whose place i is the item keys[i]. step: is called with
    "item vectors" and "simulated people" as these begin, then as in `model.train`. Deterministic.

    Raises ParameterError where matrix and keys do not fit, and DataError, by the noisy matrix
    alone, where too little rises above the noise.
    """
    _check(noisy, keys)
    step("item vectors")
    kept = items_above_noise(noisy, parameters)
    factors = fit_shrunk_factors(kept, parameters)
    step("simulated people")
    likes, table = _simulate(kept, keys, parameters)
    options = replace(
        parameters.training,
        penalty=_PENALTY * likes.nnz,  # to fold items in with simulated people, whose likes weigh 1
        ranking_dimension=factors.vectors.shape[1],
        neighbors=0,
        min_ratings=1,
        like_from=None,
    )
    vectors, boosts = factors.vectors.astype(np.float32), factors.boosts.astype(np.float32)
    return train(
        table,
        rows,
        options,
        source=describe_source(kept, parameters),
        simulated=True,
        vectors=GivenVectors(table.item_keys, vectors, parameters.scale, boosts),
        step=step,
    )


def simulate_ratings(
    noisy: Noisy, keys: tuple[str, ...], parameters: PrivateParameters
) -> RatingTable:
    """Return ratings of the 6,000 simulated people that a model of this matrix is fitted to, of the
    items that are kept: each like as the highest rating of the scale. Raises ParameterError where
    matrix and keys do not fit, and DataError where too little rises above the noise.
    """
    _check(noisy, keys)
    return _simulate(items_above_noise(noisy, parameters), keys, parameters)[1]


def popularity_list(noisy: Noisy, keys: tuple[str, ...], count: int) -> tuple[str, ...]:
    """Return the keys of the `count` items with the largest noisy row sums, the largest first, ties
    as in `keys`; all where there are fewer. The list costs nothing beside the matrix. Raises
    ParameterError where matrix and keys do not fit.
    """
    _check(noisy, keys)
    order = np.argsort(-_row_sums(noisy), kind="stable")
    return tuple([keys[place] for place in order[:count].tolist()])


def describe_source(
    kept: KeptItems, parameters: PrivateParameters, *, updated: bool = False
) -> str:
    """Return the words with which a card says where a private model comes from: "one noisy matrix
    of the likes of about 6,000 people (epsilon 1, delta 1e-06 for all that a person likes); figures
    and all else are of people SIMULATED from it". updated: "another noisy matrix ...", its space is
    of an earlier one, of the same people perhaps.
    """
    noise = parameters.noise
    promise = f"epsilon {float(noise.epsilon):g}, delta {float(noise.delta):g}"
    people = f"of the likes of {count_in_words(round(kept.people))} people ({promise}"
    if updated:
        return (
            f"another noisy matrix {people} more, for all that a person likes); the space and all"
            " else are of people SIMULATED from it and from those before"
        )
    return (
        f"one noisy matrix {people} for all that a person likes); figures and all else are of "
        "people SIMULATED from it"
    )


def _simulate(
    kept: KeptItems, keys: tuple[str, ...], parameters: PrivateParameters
) -> tuple[csr_array, RatingTable]:
    rng = np.random.default_rng([parameters.training.seed, 19])  # made-up people: protects nobody
    likes = Copula.of(kept).sample(PEOPLE, rng)
    kept_keys = tuple([keys[place] for place in kept.places.tolist()])
    pairs = np.column_stack(likes.nonzero()).astype(np.int64)
    return likes, ratings_of_likes(pairs, kept_keys, parameters.scale)


def _check(noisy: Noisy, keys: tuple[str, ...]) -> None:
    if noisy.dtype != np.int64 or noisy.shape != (len(keys), len(keys)):
        limit = f"64-bit integers, one row and one column for each of {len(keys)} items"
        raise ParameterError("noisy", f"{noisy.dtype} of shape {noisy.shape}", limit)

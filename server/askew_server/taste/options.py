"""What a training is asked for: public, and part of the model card.

What a model tells about the people it was trained on, and how coarsely.

    how many people, ratings, likes    one digit: 6,040 is about 6,000; fewer than 100 are 100
    an item's likes n (the order of default items)
                                       the power of four that starts its class: 4**j <= n < 4**(j+1)
    figures of people held out       thousandths

This is no differential privacy, and nothing is promised to anybody trained on. One person moves a
number only if it lay at the edge of its class; then whoever has both models sees it move. Of
MovieLens 1M's people, four of five change no class of likes, and one like in 400 shows.

All else is made of the ratings as they are: see `disclosure_lines`. Above all item vectors, boosts
and neighbors: their difference between two trainings marks what one person likes. What attacks give
back of it stands in tests/server/taste/training/test_disclosure.py, for simulated people, and in
docs/guarantees.md. Weighing heavy users less made it more, of 600 people of MovieLens 1M. Of
vectors that are not rounded to 4 bits it is most of them. Vectors that were fixed in advance
(`item_vectors.GivenVectors`) do not move. With fewer people than factors, the number of factors
tells how many people there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from askew.errors import ParameterError
from askew.limits import MAX_DIMENSION, MAX_RANKING_DIMENSION

if TYPE_CHECKING:  # commands show their help without numpy
    import numpy as np
    from numpy.typing import NDArray

_BETWEEN = {
    "min_ratings": (1, 10_000),
    "least_likes": (1, 10_000),
    "default_items": (1, 1_000_000_000),
    "k": (1, 1024),
    "neighbors": (0, 32),
    "seed": (0, 2**32 - 1),
}


@dataclass(frozen=True)
class TrainingOptions:
    """Public parameters of the training; the model card repeats them.

    k: results of a question. dimension: of the signal space. ranking_dimension: of the
    item vectors, fewer where the ratings do not fill them; penalty: lambda (`ease`);
    neighbors: of each item, beside its vector. None of these three for what does best for people
    held out (`item_vectors`).
    min_ratings: items with fewer are left out. like_from: the lowest rating that is a like, or None
    for the upper quarter of the scale. counts: the least count that is a like, where files hold
    counts, such as plays; None for ratings. least_likes: see `askew.spaces.vectors`. default_items:
    how many items a device holds that does not hold all, or None for as many as make a small file.
    Raises ParameterError for a value out of range.
    """

    k: int = 20
    dimension: int = 4
    ranking_dimension: int | None = None
    penalty: float | None = None
    neighbors: int | None = None
    min_ratings: int = 20
    least_likes: int = 20
    like_from: float | None = None
    counts: float | None = None
    seed: int = 0
    default_items: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.dimension <= MAX_DIMENSION:
            raise ParameterError("dimension", self.dimension, f"from 1 to {MAX_DIMENSION}")
        ranking = self.ranking_dimension
        if ranking is not None and not self.dimension <= ranking <= MAX_RANKING_DIMENSION:
            limit = f"from the signal dimension to {MAX_RANKING_DIMENSION}"
            raise ParameterError("ranking_dimension", ranking, limit)
        for name in ("penalty", "counts"):
            number = getattr(self, name)
            if number is not None and not 0 < number < float("inf"):
                raise ParameterError(name, number, "above 0 and finite")
        for name, (least, most) in _BETWEEN.items():
            number = getattr(self, name)
            if number is not None and not least <= number <= most:
                raise ParameterError(name, number, f"from {least} to {most}")


_SMALLEST = 100

_SPACE = "signal directions, ranks, clip, unit, shared slate, default items"
LEARNED = f"which items are rated often enough, item vectors, boosts and neighbors, {_SPACE}"
FIXED = f"{_SPACE}; items, vectors and boosts are given"
IMPORTED = f"item vectors as given, to 4 bits a number, {_SPACE}"
UPDATED = (
    "which items are rated often enough, vectors and boosts of new items, shared slate, "
    "default items; the rest stays"
)


def like_classes(likes: NDArray[np.number]) -> NDArray[np.float64]:
    """Return for each count of likes the largest power of four that is not above it, as a float: 1,
    1, 4, 16 for 1, 3, 4, 17; 1 where there are none.
    """
    import numpy as np

    _, exponents = np.frexp(np.maximum(likes, 1.0))  # n = m 2**e with m in [1/2, 1)
    classes: NDArray[np.float64] = np.ldexp(1.0, (exponents - 1) // 2 * 2)
    return classes


def round_to_one_digit(count: int) -> int:
    """Return a count rounded to one digit, such as 6,000 for 6,040, and at least 100; a half goes
    to the even digit: 200 for 250.
    """
    return max(round(count, 1 - len(str(count))), _SMALLEST)


def count_in_words(count: int) -> str:
    """Return a count in words, for a card: "about 6,000" for 6,040, "fewer than 100" below 100."""
    return (
        f"about {round_to_one_digit(count):,}" if count >= _SMALLEST else f"fewer than {_SMALLEST}"
    )


def disclosure_lines(made_of_people: str) -> tuple[str, ...]:
    """Return four lines that say what a model tells of people, for the operator, who decides who
    gets it. made_of_people: LEARNED, FIXED, IMPORTED or UPDATED, which the third line says:
    "exactly: item vectors as given, ...".
    """
    return (
        "of the people it was trained on, and it promises them nothing:",
        "coarsely: how many they are, figures in thousandths",
        f"exactly: {made_of_people}",
        "whoever has this model and one without some person sees what that person changed",
    )

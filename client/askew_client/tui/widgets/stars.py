"""Ratings as five stars, whatever the model's scale is."""

from __future__ import annotations

from dataclasses import dataclass

STARS = 5


@dataclass(frozen=True)
class Stars:
    """Five stars over a rating scale, each a fifth of what is above zero or of its width."""

    lowest: float
    highest: float

    def rating(self, stars: float) -> float:
        """The rating that this many stars stand for, kept on the scale."""
        rating = self._zero + stars * (self.highest - self._zero) / STARS
        return min(max(rating, self.lowest), self.highest)

    def count(self, rating: float) -> float:
        """How many stars a rating is, to the half; one beyond the scale counts as its end."""
        rating = min(max(rating, self.lowest), self.highest)
        return round(2 * STARS * (rating - self._zero) / (self.highest - self._zero)) / 2

    def text(self, rating: float | None) -> str:
        """Five cells, such as "★★★½·"."""
        if rating is None:
            return "·" * STARS
        count = self.count(rating)
        return ("★" * int(count) + "½" * (count % 1 > 0)).ljust(STARS, "·")

    @property
    def _zero(self) -> float:
        """Where no star would be: zero, or one step below a scale that does not start there."""
        if self.lowest >= 0 and self.highest >= STARS * self.lowest:
            return 0.0
        return self.lowest - (self.highest - self.lowest) / (STARS - 1)

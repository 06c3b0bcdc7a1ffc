"""Ratings and items, loaded from the files that recommender data usually comes in.

    table, rejects = read_ratings(Path("ratings.csv"))
    items, rejects = read_items(Path("movies.csv"))

The format is recognized from the file itself; `formats` lists what is accepted. A bad row is
never fatal and never silent: it is counted in `Rejects`, and the first ones are kept with their
line and reason. A file that cannot be trusted as a whole raises `askew.errors.DataError`.
"""

from askew_server.ratings.reader import read_items, read_ratings, titled
from askew_server.ratings.table import BadRow, ItemRow, RatingTable, Rejects

__all__ = [
    "BadRow",
    "ItemRow",
    "RatingTable",
    "Rejects",
    "read_items",
    "read_ratings",
    "titled",
]

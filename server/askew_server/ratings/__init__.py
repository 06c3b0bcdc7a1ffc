"""Ratings and items of tables, and vectors of files.

    table, left_out = read_ratings(Path("ratings.csv"))
    items, left_out = read_items(Path("movies.csv"))

`askew_server.tables` says which files are read. A bad row is never fatal and never silent: it is
counted in `Omissions` by its reason. A table that cannot be trusted as a whole raises
`askew.errors.DataError`.
"""

from askew_server.ratings.reader import ItemRow, RatingTable, read_items, read_ratings, titled

__all__ = [
    "ItemRow",
    "RatingTable",
    "read_items",
    "read_ratings",
    "titled",
]

"""The profile as a csv that `read_titles` reads again; a like has an empty rating."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from askew_client.views.answers import Rated


def as_csv(ratings: Iterable[Rated]) -> str:
    """Every rating, oldest first. Private: for a file or a pipe of the person's own."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("title", "rating"))
    for each in reversed([*ratings]):
        writer.writerow((each.label, "" if each.rating is None else f"{each.rating:g}"))
    return text.getvalue()

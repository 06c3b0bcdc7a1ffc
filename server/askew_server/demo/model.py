"""The demo's model, trained on the embedded films and their simulated ratings in about a second."""

from __future__ import annotations

from askew_server.demo.simulation import films, simulate
from askew_server.model.item_model import ItemModel, train
from askew_server.ratings import ItemRow, RatingTable
from askew_server.training.options import TrainingOptions

SOURCE = "well-known films with SIMULATED ratings"
N_PEOPLE = 2000
OPTIONS = TrainingOptions(ranking_dimension=8)  # as many as there are archetypes


def demo_model() -> ItemModel:
    """Deterministic; the card says that nobody gave these ratings."""
    catalog = films()
    ratings = simulate(catalog, n_people=N_PEOPLE)
    table = RatingTable(
        person=ratings.person,
        item=ratings.item,
        rating=ratings.rating,
        n_people=N_PEOPLE,
        item_keys=tuple(film.title for film in catalog),
    )
    rows = {film.title: ItemRow(film.title, film.year, film.genres) for film in catalog}
    return train(table, rows, OPTIONS, source=SOURCE, simulated=True)

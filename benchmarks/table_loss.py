"""What answers made beforehand take, and what people lose by them.

    python -m benchmarks.table_loss [MODEL RATINGS]

The same people send the same noisy points to the rule itself and to its table; the loss is that of
their best pick, of the best possible, with a standard error: of SIMULATED people with SIMULATED
models, or of those of RATINGS with a model that was trained. The exit status is 1 where a loss is
clearly above .003.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from benchmarks.serving.models import Tastes, made_films, made_people, made_tastes
from numpy.typing import NDArray

from askew.catalog.catalog import Catalog
from askew.noise.lattice import LatticeLaplace
from askew.protocol.ranking import Slate
from askew.protocol.signal import Signal
from askew.protocol.utility_table import RuleKind
from askew.wire.tastes import slate_to_bytes
from askew_server.cli.saved_model import load, of_tastes
from askew_server.ratings import read_ratings
from askew_server.retrieval.snapshot import Retriever
from askew_server.retrieval.tabulated import tables_of
from askew_server.serving.retrieval import TabulatedReplies
from askew_server.taste.measures import Estimate, ratio_of
from askew_server.taste.model.answer_tables import AnswerTable
from askew_server.taste.model.held_out import by_sizes, lattice_signals
from askew_server.taste.model.item_model import ItemModel
from askew_server.taste.prior.people import PriorPeople, as_they_are
from askew_server.taste.training.factors import fold_in_people, people_of, snapshot

MOST, PEOPLE, DRAWS = 0.003, 1000, 2
MADE: tuple[tuple[str, Callable[[], Tastes], float], ...] = (
    ("417 films", lambda: made_films(RuleKind.POSTERIOR), 1.0),
    ("417 films", lambda: made_films(RuleKind.POSTERIOR), 4.0),
    ("10^4 items", lambda: made_tastes(10**4, RuleKind.POSTERIOR, 2), 4.0),
)


def main() -> None:
    print(f"{'':40s}{'k':>4s}{'cells':>7s}{'answers':>9s}{'kB':>8s}  loss")
    worst = max(low for model in models() for low in rows(*model))
    sys.exit(worst > MOST)


def models() -> Iterator[tuple[str, Tastes | ItemModel, PriorPeople]]:
    """What is compared, by name, and people to ask."""
    if len(sys.argv) == 3:
        model = of_tastes(load(Path(sys.argv[1])))
        yield str(model.card.rule.kind), model, people_in(model, Path(sys.argv[2]))
        return
    for name, make, epsilon in MADE:
        made = make()
        card = replace(made.card, rule=replace(made.card.rule, epsilon=epsilon))
        people = made_people(card.space, len(made.catalog))
        repeated = people.only(np.tile(np.arange(len(people)), DRAWS))
        yield name, replace(made, card=card), repeated


def people_in(model: ItemModel, ratings: Path) -> PriorPeople:
    """Some of the people of these ratings, with profiles as their devices would have them."""
    table, _ = read_ratings(ratings)
    places = {key: place for place, key in enumerate(table.item_keys)}
    kept = np.array([places[key] for key in model.keys])
    space, seed = model.card.space, model.training.seed
    people = snapshot(people_of(table, kept, space.scale), seed)
    tastes = fold_in_people(people, model.catalog.vectors, space.encoder.least_likes)
    everybody = as_they_are(tastes, model.catalog.vectors, space.encoder, "ratings")
    rng = np.random.default_rng(0)
    return everybody.only(rng.permutation(len(everybody))[:PEOPLE])


def rows(name: str, model: Tastes | ItemModel, people: PriorPeople) -> Iterator[float]:
    """Prints a row for each table of points; what each loses for sure."""
    retriever = Retriever(model.card, model.catalog, model.prior)
    begun = time.process_time()
    found = tables_of(retriever)
    tables = () if found is None else found.tables

    def reply(items: tuple[int, ...]) -> bytes:
        return slate_to_bytes(Slate.of_catalog(retriever.catalog, items), retriever.card)

    print(f"{name}: {time.process_time() - begun:.1f} s CPU in all")
    for lattice in dict.fromkeys(each.lattice for each in tables):
        asked = [each for each in tables if each.lattice == lattice]
        for table, loss in zip(asked, losses(retriever, lattice, asked, people), strict=True):
            size = TabulatedReplies([table], reply).size
            title = f"  d = {table.cells.axes}, epsilon {float(lattice.epsilon):g}"
            print(
                f"{title:40s}{table.k:4d}{len(table.cells):7,d}{len(table.slates):9,d}"
                f"{size / 1e3:8.1f}  {loss.mean:+.4f} ± {loss.error:.4f}",
                flush=True,
            )
            yield loss.mean - 2 * loss.error


def losses(
    retriever: Retriever,
    lattice: LatticeLaplace,
    tables: Sequence[AnswerTable],
    people: PriorPeople,
) -> Iterator[Estimate]:
    """Of each table, paired, by the same noise."""
    catalog = retriever.catalog
    every = np.tile(np.arange(len(catalog)), (len(people), 1))
    possible = best_of(people, catalog, every)
    signals = lattice_signals(lattice, people.points, np.random.default_rng(1)).tolist()
    rule, version = retriever.rule(lattice), retriever.card.space.version
    sizes = [each.k for each in tables]
    exact = [
        by_sizes(rule, retriever.prior, Signal(version, lattice, tuple(each)), sizes)
        for each in signals
    ]
    for table, answers in zip(tables, zip(*exact, strict=True), strict=True):
        cells = [table.cells.find(each) for each in signals]
        by_table = table.slates[table.numbers[cells]].astype(np.int64)
        by_rule = np.array(answers, dtype=np.int64)
        lost = best_of(people, catalog, by_rule) - best_of(people, catalog, by_table)
        yield ratio_of(lost, possible)


def best_of(
    people: PriorPeople, catalog: Catalog, slates: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The best score of a slate (n, k) of each person's own, 0 where nothing good is new, (n,)."""
    reached, rows = np.zeros(len(people)), np.arange(len(people))
    for items in slates.T:
        worth = np.einsum("nd,nd->n", people.tastes, catalog.scoring[items])
        seen = np.asarray(people.seen[rows, items]).ravel() > 0
        reached = np.maximum(reached, np.where(seen, 0, worth))
    return reached


if __name__ == "__main__":
    main()

"""Answer tables of a model: each cell is answered by the very rule that answers its center.

Only signals that the rule `posterior` answers have tables: its answer takes milliseconds, any other
rule's a tenth of one. The tables are for the lattices and the k of the card: those of its utility
table, and the epsilon and k that its rule was chosen for. A device that follows the card asks so;
whoever asks otherwise is answered without a table.

A lattice has a table where nodes lie at most as far apart as the noise reaches, 1 / epsilon, and at
most 4,096 of them; `_FINENESS` to that distance where this is enough. So likelihoods of a signal
and of its node differ by a factor of at most exp(d epsilon spacing / 2): exp(d / 8) where it is.
`make bench NAME=tables` measures what that costs.

Complexity: an answer a cell, of the largest k.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.noise.lattice import LatticeLaplace
from askew.protocol.model_card import ModelCard
from askew.protocol.signal import Signal
from askew.protocol.utility_table import ServingMode
from askew.retrieval.posterior import PosteriorRule
from askew_server.retrieval.served import TasteModel
from askew_server.retrieval.snapshot import Retriever
from askew_server.taste.model.answer_tables import AnswerTable, AnswerTables, Cells
from askew_server.taste.model.held_out import by_sizes

_FINENESS = 4
_CELL_BITS = 12  # of the number of cells
_MOST_AXES = 4
Share = Callable[[float], None]


def published(card: ModelCard) -> Mapping[LatticeLaplace, tuple[int, ...]]:
    """Every k, ascending, of every lattice that the card names, in the order of its rows."""
    rows = () if card.utility_table is None else card.utility_table.rows
    named = [
        (each.epsilon, each.k)
        for each in rows
        if each.mode is ServingMode.QUERY and each.mechanism == "geo_laplace"
    ]
    rule, found = card.rule, dict[LatticeLaplace, set[int]]()
    if rule.kind.reads == "point":
        named.append((Fraction(rule.epsilon), rule.k))
    for epsilon, k in named:
        try:
            lattice = LatticeLaplace.for_epsilon(epsilon)
        except ParameterError:  # an epsilon that no device may choose
            continue
        if k <= card.max_slate_size:
            found.setdefault(lattice, set()).add(k)
    return {lattice: tuple(sorted(sizes)) for lattice, sizes in found.items()}


def tables_for(model: TasteModel, share: Share = lambda _: None) -> AnswerTables | None:
    """The tables of a model. None where another rule answers points, and where replies bring
    payloads: those are read from a file for each reply, and all slates' would not fit into memory.
    """
    if model.payloads is not None:
        return None
    return tables_of(Retriever(model.card, model.catalog, model.prior, slates=model.slates), share)


def tables_of(retriever: Retriever, share: Share = lambda _: None) -> AnswerTables | None:
    """The tables of a model for what its card names. Deterministic. share: is told which part of
    the cells is done.
    """
    card = retriever.card
    asked = [
        (Cells.of(lattice, card.space.encoder, nodes), lattice, sizes)
        for lattice, sizes in published(card).items()
        if isinstance(retriever.rule(lattice), PosteriorRule) and (nodes := nodes_of(lattice, card))
    ]
    if not asked:
        return None
    total, done, tables = sum(len(cells) for cells, _, _ in asked), 0, list[AnswerTable]()
    for cells, lattice, sizes in asked:
        slates = []
        for cell in range(len(cells)):
            signal = Signal(card.space.version, lattice, cells.center(cell))
            found = by_sizes(retriever.rule(lattice), retriever.prior, signal, sizes)
            slates.append([sorted(items) for items in found])
            done += 1
            share(done / total)
        for k, answers in zip(sizes, zip(*slates, strict=True), strict=True):
            tables.append(_table(lattice, k, cells, np.array(answers, dtype=np.int32)))
    return AnswerTables(card.space.version, card.catalog_version, tuple(tables))


def _table(
    lattice: LatticeLaplace, k: int, cells: Cells, answers: NDArray[np.int32]
) -> AnswerTable:
    slates, numbers = np.unique(answers, axis=0, return_inverse=True)
    return AnswerTable(lattice, k, cells, numbers.ravel().astype(np.int32), slates)


def nodes_of(lattice: LatticeLaplace, card: ModelCard) -> int:
    """How many nodes each axis has; 0 for no table."""
    encoder = card.space.encoder
    if encoder.dimension > _MOST_AXES:
        return 0
    widths = encoder.unit * float(lattice.epsilon)  # of the box, by the noise's own reach
    nodes = min(ceil(_FINENESS * widths) + 1, 1 << (_CELL_BITS // encoder.dimension))
    return nodes if widths <= nodes - 1 else 0

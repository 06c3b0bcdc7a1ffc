"""Answers that are made beforehand, one for each signal that a device can send.

The ways to ask that a card names: whoever asks otherwise is answered without a table.

They are those of its utility table, and the epsilon and k that its rule was chosen
for. A device that follows the card asks in one of them.

Tables of a model: each cell is answered by the very rule that would answer its center.

Points have a table where nodes lie at most as far apart as the noise reaches, 1 / epsilon, and at
most 4,096 of them; `_FINENESS` to that distance where this is enough. So likelihoods of a signal
and of its node differ by a factor of at most exp(d epsilon spacing / 2): exp(d / 8) or exp(d / 16)
where it is. Probes move with the signal, so they want finer cells than weights do. What that costs
was measured: see docs/training.md.

Complexity: an answer a cell and k; of the rule `posterior`, an answer a cell, of the largest k.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.model_card import ModelCard
from askew.protocol.signal import Signal, TasteMechanism
from askew.protocol.utility_table import MechanismName, ServingMode
from askew_server.retrieval.served import TasteModel
from askew_server.retrieval.snapshot import Retriever
from askew_server.taste.model.answer_tables import AnswerTable, AnswerTables, Cells, cells_of
from askew_server.taste.model.held_out import by_sizes

_READ_BY: Mapping[str, MechanismName] = {"point": "geo_laplace", "bucket": "bucket_rr"}


def published(card: ModelCard) -> Mapping[TasteMechanism, tuple[int, ...]]:
    """Every k, ascending, of every mechanism that the card names, in the order of its rows."""
    offers = () if card.utility_table is None else card.utility_table.rows
    named = [(o.mechanism, o.epsilon, o.k) for o in offers if o.mode is ServingMode.QUERY]
    rule, found = card.rule, dict[TasteMechanism, set[int]]()
    named.append((_READ_BY.get(rule.kind.reads), Fraction(rule.epsilon), rule.k))
    for name, epsilon, k in named:
        mechanism = _mechanism(name, epsilon, card.space.n_buckets)
        if mechanism is not None and k <= card.max_slate_size:
            found.setdefault(mechanism, set()).add(k)
    return {mechanism: tuple(sorted(sizes)) for mechanism, sizes in found.items()}


def _mechanism(
    name: MechanismName | None, epsilon: Fraction, n_buckets: int
) -> TasteMechanism | None:
    """What a device sends by; None where it cannot."""
    try:
        if name == "geo_laplace":
            return LatticeLaplace.for_epsilon(epsilon)
        if name == "bucket_rr" and n_buckets:
            return RandomizedResponse.for_epsilon(n_buckets, epsilon)
    except ParameterError:  # an epsilon that no device may choose
        pass
    return None


_FINENESS = {True: 4, False: 8}  # by whether the rule weighs a prior
_CELL_BITS = 12  # of the number of cells
_MOST_AXES = 4
Share = Callable[[float], None]


def tables_for(model: TasteModel, share: Share = lambda _: None) -> AnswerTables | None:
    """The tables of a model; none where replies bring payloads: those are read from a file for each
    reply, and all slates' would not fit into memory.
    """
    if model.payloads is not None:
        return None
    return tables_of(Retriever(model.card, model.catalog, model.prior, slates=model.slates), share)


def tables_of(retriever: Retriever, share: Share = lambda _: None) -> AnswerTables:
    """The tables of a model for the ways to ask that its card names. Deterministic. share: is told
    which part of the cells is done.
    """
    card = retriever.card
    asked = [
        (cells, mechanism, sizes)
        for mechanism, sizes in published(card).items()
        if (cells := _cells(mechanism, retriever)) is not None
    ]
    total, done, tables = sum(len(cells) for cells, _, _ in asked), 0, list[AnswerTable]()
    for cells, mechanism, sizes in asked:
        slates = []
        for cell in range(len(cells)):
            signal = Signal(card.space.version, mechanism, cells.center(cell))
            found = by_sizes(retriever.rule(mechanism), retriever.prior, signal, sizes)
            slates.append([sorted(items) for items in found])
            done += 1
            share(done / total)
        for k, answers in zip(sizes, zip(*slates, strict=True), strict=True):
            tables.append(_table(mechanism, k, cells, np.array(answers, dtype=np.int32)))
    return AnswerTables(card.space.version, card.catalog_version, tuple(tables))


def _table(
    mechanism: TasteMechanism, k: int, cells: Cells, answers: NDArray[np.int32]
) -> AnswerTable:
    slates, numbers = np.unique(answers, axis=0, return_inverse=True)
    return AnswerTable(mechanism, k, cells, numbers.ravel().astype(np.int32), slates)


def _cells(mechanism: TasteMechanism, retriever: Retriever) -> Cells | None:
    """The cells of a table; None where there is none."""
    nodes = 0
    if isinstance(mechanism, LatticeLaplace):
        nodes = nodes_of(mechanism, retriever.card)
        if nodes == 0:
            return None
    return cells_of(mechanism, retriever.card, nodes)


def nodes_of(lattice: LatticeLaplace, card: ModelCard) -> int:
    """How many nodes each axis has; 0 for no table."""
    encoder, fineness = card.space.encoder, _FINENESS[card.rule.kind.needs_prior]
    if encoder.dimension > _MOST_AXES:
        return 0
    widths = encoder.unit * float(lattice.epsilon)  # of the box, by the noise's own reach
    nodes = min(ceil(fineness * widths) + 1, 1 << (_CELL_BITS // encoder.dimension))
    return nodes if widths <= nodes - 1 else 0

"""The utility table: every figure and size against a plain recount."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from server.taste.model.measured_films import (
    OPTIONS,
    file_size,
    measured,
    small_table,
    summary,
    table_of,
    tastes_of,
    who_is_told,
)

from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.signal import Query, Signal
from askew.protocol.utility_table import ServingMode
from askew.wire.held import held_files
from askew_server.retrieval.snapshot import Retriever
from askew_server.taste.model.item_model import train
from askew_server.taste.prior.people import as_they_are

# -- every figure, recounted -----------------------------------------------------------------------


def test_a_row_of_buckets_is_what_the_server_gives_by_every_lie() -> None:
    """Planted bugs: a gain without pairs, whose error is larger; truth without lies."""
    model = measured()
    buckets = model.card.space.buckets
    assert buckets is not None
    server, people = Retriever(model.card, model.catalog, model.prior), who_is_told(model)
    rows = [each for each in table_of(model).rows if each.mechanism == "bucket_rr"]
    assert len(rows) == 4 * 4  # plain epsilons by k
    for row in rows:
        response = RandomizedResponse.for_epsilon(len(buckets), row.epsilon)
        slates = [
            server.answer(Query(Signal(model.card.space.version, response, (b,)), row.k)).item_ids
            for b in range(len(buckets))
        ]
        truth = float(response.odds / (response.odds + len(buckets) - 1))
        lie = (1 - truth) / (len(buckets) - 1)
        got = [
            sum((truth if b == own else lie) * max(w[list(s)]) for b, s in enumerate(slates))
            for w, own in people
        ]
        same = list(model.catalog.shared_slate[: row.k])
        expected = summary(got, [max(w[same]) for w, _ in people], [max(w) for w, _ in people])
        assert (row.ratio, row.gain, row.gain_error) == pytest.approx(expected, abs=0.0051)


def test_a_row_of_points_is_what_the_server_gives_on_average() -> None:
    """Ten draws a person and row, of other noise than the table's own."""
    model, rng = measured(), np.random.default_rng(1)
    tastes, server = tastes_of(model), Retriever(model.card, model.catalog, model.prior)
    order = np.random.default_rng([OPTIONS.seed, 9]).permutation(len(tastes.vectors))
    fifth = len(order) // 5
    chosen = np.sort(order[fifth : 2 * fifth])
    people, encoder = who_is_told(model), model.card.space.encoder
    points = as_they_are(tastes, model.catalog.vectors, encoder, "all").points[chosen]
    (row,) = [
        each
        for each in table_of(model).rows
        if each.mechanism == "geo_laplace" and each.epsilon == 4 and each.k == 4
    ]
    lattice = LatticeLaplace.for_epsilon(row.epsilon)
    got = []
    for (worth, _), point in zip(people, points, strict=True):
        noise = rng.geometric(1 / (lattice.inverse_rate + 1), (10, 2, 2))
        values = np.rint(point / lattice.step).astype(int) + noise[:, 0] - noise[:, 1]
        signals = (Signal(model.card.space.version, lattice, tuple(v)) for v in values.tolist())
        slates = [server.answer(Query(signal, 4)).item_ids for signal in signals]
        got.append(float(np.mean([max(worth[list(slate)]) for slate in slates])))
    same = list(model.catalog.shared_slate[:4])
    ratio, gain, error = summary(
        got, [max(w[same]) for w, _ in people], [max(w) for w, _ in people]
    )
    assert row.gain == pytest.approx(gain, abs=4 * row.gain_error)
    assert row.ratio == pytest.approx(ratio, abs=4 * row.gain_error)
    assert 0.5 * error < row.gain_error < 3 * error


def test_a_row_of_shared_items_is_the_best_of_the_first_of_them() -> None:
    model = measured()
    people, best = who_is_told(model), sum(max(w) for w, _ in who_is_told(model))
    shown = {
        each.held: each.ratio for each in table_of(model).rows if each.mode is ServingMode.CACHED
    }
    assert set(shown) == {8, 25, 64}  # and none for more than there are films
    for held, ratio in shown.items():
        first = list(model.catalog.shared_slate[:held])
        assert ratio == pytest.approx(sum(max(w[first]) for w, _ in people) / best, abs=0.0051)
    assert table_of(model).rows[0].ratio == 1.0


def test_a_signal_is_worth_the_fewest_items_that_give_as_much() -> None:
    """Planted bug: one item more or fewer."""
    model = measured()
    people = who_is_told(model)
    best, slate = sum(max(w) for w, _ in people), list(model.catalog.shared_slate)
    ratios = [sum(max(w[slate[:n]]) for w, _ in people) / best for n in range(1, len(slate) + 1)]
    told = [
        each
        for each in table_of(model).rows
        if each.mode is ServingMode.QUERY and each.equivalent_items
    ]
    assert len({each.equivalent_items for each in told}) > 5
    for row in told:
        assert ratios[row.equivalent_items - 1] >= row.ratio - 0.0051
        assert row.equivalent_items == 1 or ratios[row.equivalent_items - 2] <= row.ratio + 0.0051


def test_what_is_held_counts_in_every_row_and_is_not_sent_again() -> None:
    model = measured(12)
    assert model.card.n_starter == 12
    people, best = who_is_told(model), sum(max(w) for w, _ in who_is_told(model))
    starter = sum(max(w[:12]) for w, _ in people) / best
    (row,) = [e for e in table_of(model).rows if e.mode is ServingMode.CACHED and e.held == 12]
    assert row.ratio == pytest.approx(starter, abs=0.0051)
    signals = [each for each in table_of(model).rows if each.mode is ServingMode.QUERY]
    assert {each.held for each in signals} == {12}
    assert min(each.ratio for each in signals) >= row.ratio
    nothing = {
        each.k: sum(max(w[[*range(12), *model.catalog.shared_slate[: each.k]]]) for w, _ in people)
        / best
        for each in signals
    }
    for each in signals:
        assert each.gain == pytest.approx(each.ratio - nothing[each.k], abs=0.0101)


def test_figures_are_told_in_hundredths() -> None:
    for each in table_of(measured()).rows:
        for figure in (each.ratio, each.gain, each.gain_error):
            assert figure == round(figure, 2)


def test_the_same_ratings_make_the_same_table() -> None:
    options = replace(OPTIONS, starter=12)
    twice = [train(small_table(), {}, options, source="s", file_size=file_size) for _ in range(2)]
    assert twice[0].card == twice[1].card


# -- sizes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("starter", [None, 12])
def test_sizes_are_those_of_the_files_that_are_served(starter: int | None) -> None:
    """Planted bug: a formula for a file. The table is in the very files whose sizes it tells."""
    model = measured(starter)
    files = {len(data) for data in held_files(model.card, model.catalog).values()}
    told = {
        each.size
        for each in table_of(model).rows
        if each.held in {len(model.catalog), model.card.n_starter}
    }
    assert told == files
    assert len(files) == (1 if starter is None else 2)


def test_holding_nothing_takes_no_bytes() -> None:
    assert {each.size for each in table_of(measured()).rows if not each.held} == {0}

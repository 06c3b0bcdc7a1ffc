"""Answers made beforehand: each is what the rule says to the center of the signal's cell."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from server.taste.model.measured_films import measured
from small_world import made_buckets, made_card, made_catalog, made_encoder, made_space

from askew.noise.lattice import COORDINATE_LIMIT, LatticeLaplace
from askew.protocol.model_card import ModelCard
from askew.protocol.signal import Signal
from askew.protocol.utility_table import ModeUtility, RuleKind, ServingMode, UtilityTable
from askew.retrieval.posterior import lattice_log_likelihood
from askew.spaces.encoder import Encoder
from askew_server.retrieval.served import snapshot_of
from askew_server.retrieval.snapshot import Retriever
from askew_server.retrieval.tabulated import nodes_of, published, tables_for, tables_of
from askew_server.taste.model.answer_tables import AnswerTable, Cells
from askew_server.taste.model.item_model import ItemModel
from askew_server.taste.prior.people import PriorPeople

UNIT = 3.0
MANY = [(float(x), float(y)) for x, y in np.random.default_rng(4).normal(size=(40, 2))]


def retriever_of(
    kind: RuleKind = RuleKind.POSTERIOR, k: int = 3, epsilon: float = 4.0, d: int = 2
) -> Retriever:
    """Points of a box of width 3; ranks are linear, directions the first axes. Sixty people."""
    encoder = made_encoder(d=d, ranking=d, width=2.0, unit=UNIT)
    space = made_space(encoder, made_buckets(ranking=d))
    rows = np.random.default_rng(4).normal(size=(40, d)).tolist()
    catalog = made_catalog(list(map(tuple, rows)), tuple(range(40))[::-1])
    card = made_card(space, catalog, 20)
    rule = replace(card.rule, kind=kind, epsilon=epsilon, k=k)
    points = np.random.default_rng(6).uniform(0, UNIT, (60, d))
    tastes = encoder.decode(points).astype(np.float32)
    people = PriorPeople(tastes, points, csr_array((60, 40)), np.ones(60), "SIMULATED")
    return Retriever(replace(card, rule=rule), catalog, people if kind.needs_prior else None)


@pytest.fixture(scope="module")
def retriever() -> Retriever:
    return retriever_of()


@pytest.fixture(scope="module")
def table(retriever: Retriever) -> AnswerTable:
    return tables(retriever)[0]


def tables(retriever: Retriever) -> tuple[AnswerTable, ...]:
    found = tables_of(retriever)
    return () if found is None else found.tables


def from_table(table: AnswerTable, values: tuple[int, ...]) -> list[int]:
    answer: list[int] = table.slates[table.numbers[table.cells.find(values)]].tolist()
    return answer


def from_rule(retriever: Retriever, table: AnswerTable, values: tuple[int, ...]) -> list[int]:
    signal = Signal(retriever.card.space.version, table.lattice, values)
    return list(retriever.rule(table.lattice).answer(signal, table.k))


# -- cells ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize("exponent", [5, 10, 20])
@pytest.mark.parametrize("unit", [0.75, 1.5625152587890625, 64.0])
def test_a_signal_goes_to_the_node_nearest_to_where_it_lies_in_the_box(
    d: int, exponent: int, unit: float
) -> None:
    """Exactly, by the definition in words and in rational numbers, axis by axis."""
    n = 5
    cells = Cells.of(LatticeLaplace(exponent, 1024), made_encoder(d=d, ranking=d, unit=unit), n)
    steps = Fraction(unit) * 2**exponent
    nodes = [at * steps / (n - 1) for at in range(n)]
    rng = np.random.default_rng(d)
    for values in rng.integers(-2 * int(steps), 3 * int(steps), size=(50, d)).tolist():
        inside = [min(max(Fraction(z), Fraction(0)), steps) for z in values]
        nearest = [max((-abs(node - z), at) for at, node in enumerate(nodes))[1] for z in inside]
        expected = sum(at * n ** (d - 1 - axis) for axis, at in enumerate(nearest))
        assert expected == cells.find(values)


def test_a_center_is_the_lattice_point_nearest_its_node_and_lies_in_its_own_cell() -> None:
    cells = Cells.of(LatticeLaplace(10, 1024), made_encoder(unit=1.5625152587890625), 52)
    steps = Fraction(1.5625152587890625) * 1024
    for cell in range(len(cells)):
        center = cells.center(cell)
        assert cell == cells.find(center)
        nodes = [at * steps / 51 for at in divmod(cell, 52)]
        assert all(abs(z - node) <= Fraction(1, 2) for z, node in zip(center, nodes, strict=True))


def test_every_signal_of_the_wire_has_a_cell_and_nothing_else_has() -> None:
    points = Cells.of(LatticeLaplace(10, 1024), made_encoder(), 5)
    most = COORDINATE_LIMIT
    assert [points.find(pair) for pair in itertools.product((-most, most), repeat=2)] == [
        0,
        4,
        20,
        24,
    ]
    bad = [(), (0,), (0, 0, 0), (0, -most - 1), (most + 1, 0)]
    assert [points.find(values) for values in bad] == [-1] * len(bad)


@pytest.mark.parametrize("far", [1, 7, 10**6, COORDINATE_LIMIT])
def test_beyond_the_box_a_coordinate_tells_the_people_inside_apart_no_better(far: int) -> None:
    """So that a prior weighed by a clamped signal is weighed by the signal itself."""
    lattice, steps = LatticeLaplace(10, 1024), math.ceil(UNIT * 1024)
    points = np.random.default_rng(1).uniform(0, UNIT, (200, 2))
    points[0], points[1] = 0, UNIT
    for outside, clamped in (((-far, 900), (0, 900)), ((1500, steps + far), (1500, steps))):
        logs = [lattice_log_likelihood(lattice, each, points) for each in (outside, clamped)]
        factor = logs[0] - logs[1]
        np.testing.assert_allclose(factor, factor[0], rtol=1e-9, atol=1e-9)


# -- which ----------------------------------------------------------------------------------------


def with_offers(card: ModelCard, *offers: ModeUtility) -> ModelCard:
    whole = ModeUtility(ServingMode.LOCAL, card.n_items, 1, 1.0)
    return replace(card, utility_table=UtilityTable((whole, *offers), 0))


def test_the_ways_to_ask_are_those_of_the_card(retriever: Retriever) -> None:
    def offer(name: str, epsilon: Fraction, k: int) -> ModeUtility:
        return ModeUtility(ServingMode.QUERY, 0, 0, 0.5, mechanism=name, epsilon=epsilon, k=k)  # type: ignore[arg-type]

    one, four = LatticeLaplace.for_epsilon(Fraction(1)), LatticeLaplace.for_epsilon(Fraction(4))
    assert dict(published(retriever.card)) == {four: (3,)}
    card = with_offers(
        retriever.card,
        offer("geo_laplace", Fraction(1), 5),
        offer("bucket_rr", Fraction(2), 8),
        offer("geo_laplace", Fraction(4), 8),
        offer("geo_laplace", Fraction(4), 21),  # more than is ever answered
    )
    assert dict(published(card)) == {one: (5,), four: (3, 8)}
    assert not published(retriever_of(RuleKind.NONE).card)


def test_no_rule_but_the_posterior_has_tables() -> None:
    """Another answers in a tenth of a millisecond."""
    assert tables(retriever_of())
    assert not tables(retriever_of(RuleKind.CODEBOOK))
    assert not tables(retriever_of(RuleKind.NONE))


@pytest.mark.parametrize(
    ("d", "epsilon", "nodes"),
    [
        (1, 2, 25),
        (2, 1, 13),
        (2, 4, 49),
        (2, 8, 64),
        (3, 4, 16),
        (4, 2, 8),
        (4, 4, 0),  # farther apart than the noise reaches
        (5, 1, 0),
    ],
)
def test_nodes_lie_closer_than_the_noise_reaches_or_there_is_no_table(
    d: int, epsilon: int, nodes: int
) -> None:
    """4 to that distance, as long as there are at most 4,096."""
    card = retriever_of(RuleKind.CODEBOOK, d=d).card
    assert nodes_of(LatticeLaplace.for_epsilon(Fraction(epsilon)), card) == nodes


# -- answers --------------------------------------------------------------------------------------


def test_every_cell_is_answered_as_its_center(retriever: Retriever, table: AnswerTable) -> None:
    assert (table.lattice, table.k) == (LatticeLaplace.for_epsilon(Fraction(4)), 3)
    assert len(table.cells) == 49**2
    for cell in range(0, len(table.cells), 7):
        center = table.cells.center(cell)
        assert from_rule(retriever, table, center) == from_table(table, center)


def test_a_signal_far_outside_is_answered_exactly_as_one_on_the_edge(
    retriever: Retriever, table: AnswerTable
) -> None:
    """Nodes lie on the edges, where every clamped signal is."""
    steps, far = round(UNIT * 4096), COORDINATE_LIMIT
    for corner in itertools.product((0, 1), repeat=2):
        edge = tuple(at * steps for at in corner)
        outside = tuple(far if at else -far for at in corner)
        assert from_rule(retriever, table, outside) == from_rule(retriever, table, edge)
        assert from_rule(retriever, table, outside) == from_table(table, outside)


def test_the_axes_are_not_mixed_up(retriever: Retriever, table: AnswerTable) -> None:
    steps = round(UNIT * 4096)
    assert from_rule(retriever, table, (0, steps)) != from_rule(retriever, table, (steps, 0))
    for values in ((0, steps), (steps, 0)):
        assert from_rule(retriever, table, values) == from_table(table, values)


def test_tables_are_the_same_whenever_they_are_made(retriever: Retriever) -> None:
    first, second = (tables(each)[0] for each in (retriever, retriever_of()))
    np.testing.assert_array_equal(first.numbers, second.numbers)
    np.testing.assert_array_equal(first.slates, second.slates)


def test_what_is_done_grows_to_all_of_it(retriever: Retriever) -> None:
    told: list[float] = []
    tables_of(retriever, told.append)
    assert told == sorted(told)
    assert (len(told), told[-1]) == (49**2, 1.0)


@pytest.fixture(scope="module")
def prior_model() -> ItemModel:
    """A model with a prior, buckets, and a utility table."""
    model = measured()
    return replace(model, tables=tables_for(model))


@pytest.mark.slow
def test_a_model_with_a_prior_has_tables_of_points_for_every_k(
    prior_model: ItemModel,
) -> None:
    """The slates of one greedy choice for all k are those of a choice for each."""
    model = prior_model
    assert model.tables is not None
    assert model.card.utility_table is not None
    offers = [each for each in model.card.utility_table.rows if each.mechanism == "geo_laplace"]
    assert len(model.tables.tables) >= len({(each.epsilon, each.k) for each in offers}) > 0
    retriever = Retriever(model.card, model.catalog, model.prior)
    rng = np.random.default_rng(3)
    for table in model.tables.tables:
        for cell in rng.integers(0, len(table.cells), 6).tolist():
            center = table.cells.center(cell)
            assert from_rule(retriever, table, center) == from_table(table, center)


def test_only_tables_of_this_very_catalog_are_served(prior_model: ItemModel) -> None:
    """A release that orders the catalog makes another one, and so another slate for anybody."""
    assert prior_model.tables is not None
    assert snapshot_of(prior_model).tables == prior_model.tables.tables
    catalog = prior_model.catalog
    reordered = replace(catalog, shared_slate=catalog.shared_slate[::-1])
    card = replace(prior_model.card, catalog_version=reordered.version)
    assert not snapshot_of(replace(prior_model, card=card, catalog=reordered)).tables


def test_nothing_is_made_beforehand_of_replies_that_bring_payloads(prior_model: ItemModel) -> None:
    heavy = replace(prior_model, payloads=[b""] * len(prior_model.catalog))
    assert tables_for(heavy) is None
    assert not snapshot_of(heavy).tables


def paired_loss(retriever: Retriever, table: AnswerTable, encoder: Encoder) -> tuple[float, float]:
    """Of people spread evenly in the box, by the same noise: what their best pick loses by the
    table, of the best possible, and the standard error of that.
    """
    rng, lattice = np.random.default_rng(5), table.lattice
    points = rng.uniform(0, encoder.unit, (2000, encoder.dimension))
    worth = np.maximum(encoder.decode(points) @ retriever.catalog.scoring.T.astype(float), 0)
    noise = rng.geometric(1 / (lattice.inverse_rate + 1), (2, *points.shape))
    signals = np.rint(points / lattice.step).astype(int) + noise[0] - noise[1]
    losses = np.empty(len(points))
    for row, values in enumerate(map(tuple, signals.tolist())):
        exact, cell = from_rule(retriever, table, values), from_table(table, values)
        losses[row] = worth[row, exact].max() - worth[row, cell].max()
    losses /= worth.max(axis=1).mean()
    return float(losses.mean()), float(losses.std() / len(losses) ** 0.5)


def test_a_table_loses_next_to_nothing(retriever: Retriever, table: AnswerTable) -> None:
    loss, error = paired_loss(retriever, table, retriever.card.space.encoder)
    assert loss + 2 * error < 0.003


def test_a_much_coarser_table_loses_more_than_that(
    retriever: Retriever, table: AnswerTable
) -> None:
    """Or the figure above would say nothing."""
    encoder = retriever.card.space.encoder
    cells = Cells.of(table.lattice, encoder, 2)
    answers = [from_rule(retriever, table, cells.center(cell)) for cell in range(4)]
    slates, numbers = np.unique(np.array(answers, np.int32), axis=0, return_inverse=True)
    coarse = replace(table, cells=cells, numbers=numbers.ravel().astype(np.int32), slates=slates)
    loss, error = paired_loss(retriever, coarse, encoder)
    assert loss - 2 * error > 0.003

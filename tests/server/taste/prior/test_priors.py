"""Models with a prior: where it comes from, that it is said, kept, served and never guessed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from safetensors.numpy import load as decode
from server.taste.model.measured_films import measured

from askew.dp.composition import PrivacyFilter
from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.errors import ArtifactError, ParameterError
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.signal import Query, Signal
from askew.retrieval.posterior import covered
from askew_server.cli.main import cli
from askew_server.demo.simulation import films, simulate
from askew_server.ledger import EventDigests, Ledger
from askew_server.ratings import RatingTable, read_ratings
from askew_server.release.plan import place_of_file
from askew_server.retrieval.served import snapshot_of
from askew_server.retrieval.snapshot import Retriever
from askew_server.taste.model import artifact, rule_choice
from askew_server.taste.model.item_model import ItemModel, train, update
from askew_server.taste.prior import people
from askew_server.taste.prior.source import (
    PRIOR_KINDS,
    SLATE_KINDS,
    Cohort,
    PriorSource,
    PublishedRatings,
)
from askew_server.taste.training import buckets
from askew_server.taste.training.buckets import BucketDesign
from askew_server.taste.training.options import TrainingOptions

pytestmark = pytest.mark.usefixtures("few_trials", "few_buckets")

Arrays = dict[str, NDArray[Any]]
Change = Callable[[Arrays], object]
OPTIONS = TrainingOptions(epsilon=8.0, k=4, dimension=2, ranking_dimension=6, min_ratings=5)


@cache
def small_table(n_people: int = 300) -> RatingTable:
    ratings = simulate(films()[:60], n_people=n_people)
    keys = tuple(film.title for film in films()[:60])
    return RatingTable(ratings.person, ratings.item, ratings.rating, n_people, keys)


@cache
def cohort_model() -> ItemModel:
    options = replace(OPTIONS, rule="auto")
    return train(small_table(), {}, options, source="simulated", prior=Cohort("volunteers"))


def retriever(model: ItemModel) -> Retriever:
    return Retriever(model.card, model.catalog, model.prior)


def point_query(model: ItemModel, x: float, y: float, k: int = 4) -> Query:
    lattice = LatticeLaplace.for_epsilon(Fraction(8))
    values = tuple(round(c / lattice.step) for c in (x, y))
    return Query(Signal(model.card.space.version, lattice, values), k)


# -- what the card says ----------------------------------------------------------------------------


def test_the_card_names_a_cohort_and_warns() -> None:
    prior = cohort_model().card.rule.prior
    assert prior.startswith("opt-in cohort volunteers: about 300 people as they are. ")
    assert "WARNING" in prior


def test_without_a_prior_the_card_says_none_and_no_rule_needs_one() -> None:
    model = train(small_table(), {}, replace(OPTIONS, rule="auto"), source="simulated")
    assert model.prior is None
    assert model.card.rule.prior == "none"
    assert set(model.figures) == {"none", "offsets", "codebook"}
    assert model.card.rule.kind in model.figures


def test_a_rule_that_gains_is_the_one_that_serves() -> None:
    model = measured()
    assert set(model.figures) == {"none", "offsets", "codebook", "posterior", "buckets"}
    served = model.figures[model.card.rule.kind]
    assert served.gain.mean >= 2 * served.gain.error > 0
    assert model.figures["none"].gain.mean == 0.0
    for rule in ("posterior", "buckets"):  # a prior pays: both rules that weigh it gain
        assert model.figures[rule].gain.mean > 2 * model.figures[rule].gain.error


@pytest.mark.parametrize("rule", ["posterior", "buckets"])
def test_a_rule_that_weighs_a_prior_is_refused_without_one(rule: str) -> None:
    with pytest.raises(ParameterError, match="needs no prior"):
        train(small_table(), {}, replace(OPTIONS, rule=rule), source="simulated")


# -- serving ---------------------------------------------------------------------------------------


@pytest.mark.thin
@pytest.mark.parametrize("k", [1, 4, 30])
def test_points_and_buckets_get_exactly_k_items(k: int) -> None:
    model = cohort_model()
    assert model.card.space.buckets is not None
    n_buckets = len(model.card.space.buckets)
    answers = [retriever(model).answer(point_query(model, 0.4, 1.2, k))]
    response = RandomizedResponse.for_epsilon(n_buckets, Fraction(8))
    for bucket in range(n_buckets):
        signal = Signal(model.card.space.version, response, (bucket,))
        answers.append(retriever(model).answer(Query(signal, k)))
    for slate in answers:
        assert len(slate.item_ids) == k
        assert list(slate.item_ids) == sorted(set(slate.item_ids))


def test_different_places_get_different_answers() -> None:
    model = train(
        small_table(), {}, replace(OPTIONS, rule="posterior"), source="s", prior=Cohort("v")
    )
    unit = model.card.space.encoder.unit
    corners = [(0.0, 0.0), (unit, 0.0), (0.0, unit), (unit, unit)]
    slates = {retriever(model).answer(point_query(model, *c)).item_ids for c in corners}
    assert len(slates) > 1


def test_seen_items_of_the_prior_weigh_nothing() -> None:
    """If everybody has seen the best item, it is worth nothing to anybody in the prior."""
    model = cohort_model()
    assert model.prior is not None
    before = model.prior.prior(model.catalog)
    best = int(before.items[before.scores.sum(axis=1).argmax()])
    seen = model.prior.seen.tolil()
    seen[:, best] = 1.0
    after = replace(model.prior, seen=seen.tocsr()).prior(model.catalog)
    row = np.flatnonzero(after.items == best)
    assert after.scores[row].sum() == 0
    assert covered(before.scores, before.weights.astype(np.float32), [0]) >= 0


# -- kept in the model -----------------------------------------------------------------------------


def test_a_model_with_a_prior_is_loaded_and_answers_alike(tmp_path: Path) -> None:
    model = cohort_model()
    artifact.save(model, tmp_path / "model")
    loaded = artifact.load(tmp_path / "model")
    assert loaded.card == model.card
    assert dict(loaded.figures) == dict(model.figures)
    query = point_query(model, 1.0, 0.5)
    assert retriever(loaded).answer(query).item_ids == retriever(model).answer(query).item_ids


def test_a_server_starts_from_what_was_found_before_and_answers_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: the pool, or the slates of buckets, found again at every start: 44 s at 10^5
    items, where to load them takes none.
    """
    model, buckets = cohort_model(), cohort_model().card.space.n_buckets
    assert buckets
    made = retriever(model)
    artifact.save(model, tmp_path / "model")
    loaded = artifact.load(tmp_path / "model")
    monkeypatch.setattr("askew_server.taste.prior.people.favorites", None)
    monkeypatch.setattr("askew_server.taste.prior.people.bucket_rule", None)
    served = snapshot_of(loaded).answers
    for odds in (Fraction(2), Fraction(8), Fraction(300)):
        response, version = RandomizedResponse(buckets, odds), model.card.space.version
        for bucket in range(buckets):
            query = Query(Signal(version, response, (bucket,)), 4)
            assert served.answer(query).item_ids == made.answer(query).item_ids
    for place in (0.0, 0.7, 1.9):
        query = point_query(model, place, place)
        assert served.answer(query).item_ids == made.answer(query).item_ids


def test_a_pool_that_was_found_before_has_what_all_are_shown_today() -> None:
    """A release may order a cold start, after the pool was found."""
    model = cohort_model()
    assert model.prior is not None
    pool = model.prior.pool_in(model.catalog, 0)
    kept = replace(model.prior, pool=pool[:-3])
    shown = replace(model.catalog, shared_slate=(int(pool[-1]), 0))
    assert set(kept.prior(shown).items) == {*pool[:-3].tolist(), int(pool[-1]), 0}
    assert kept.only(np.arange(5)).pool is None


def test_of_many_people_some_choose_the_pool_and_the_buckets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As many as suffice, from the first to the last of them; whoever asks is answered by all.
    Planted bugs: all of them; the first ones alone.
    """
    monkeypatch.setattr(buckets, "ENOUGH", 40)
    looked_at: list[int] = []
    counted, designed = buckets.favorites, buckets.design_buckets

    def counting(scores: NDArray[np.float32]) -> NDArray[np.int64]:
        looked_at.append(len(scores))
        return counted(scores)

    def designing(tastes: NDArray[np.float64], *given: Any, **named: Any) -> BucketDesign:
        assert len(tastes) == 40
        return designed(tastes, *given, **named)

    monkeypatch.setattr(people, "favorites", counting)
    monkeypatch.setattr(rule_choice, "design_buckets", designing)
    options = replace(OPTIONS, rule="buckets")
    model = train(small_table(), {}, options, source="simulated", prior=Cohort("testers"))
    assert set(looked_at) == {40}
    assert model.prior is not None
    assert len(model.prior) > 290  # whoever likes something
    spaced = buckets.enough_of(300).tolist()
    assert (spaced[0], spaced[1], spaced[-1]) == (0, 7, 292)
    assert buckets.enough_of(39).tolist() == list(range(39))


def test_the_same_cohort_and_seed_make_the_same_bytes(tmp_path: Path) -> None:
    options = replace(OPTIONS, rule="auto")
    again = train(small_table(), {}, options, source="simulated", prior=Cohort("volunteers"))
    for name, model in (("a", cohort_model()), ("b", again)):
        artifact.save(model, tmp_path / name)
    for file in ("manifest.json", "card.binpb", "arrays.safetensors", "items.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def made(make: Callable[[NDArray[Any]], NDArray[Any] | None], *names: str) -> Change:
    """Arrays that are others, or gone."""

    def change(arrays: Arrays) -> None:
        for name in names:
            found = make(arrays.pop(name))
            arrays |= {} if found is None else {name: np.ascontiguousarray(found)}

    return change


def put(name: str, at: int | tuple[int, ...], value: float) -> Change:
    """One number is another."""

    def change(arrays: Arrays) -> None:
        arrays[name][at] = value

    return change


def gone(_: NDArray[Any]) -> None:
    """In place of an array."""


SLATES = ("bucket_slates", "bucket_own_worth", "bucket_general_worth")
FORGED: dict[str, Change] = {
    "no ends": made(gone, "prior_seen_ends"),
    "items beyond": made(lambda items: items + 10_000, "prior_seen_items"),
    "ends backwards": made(lambda ends: ends[::-1], "prior_seen_ends"),
    "too few points": made(lambda points: points[:-1], "prior_points"),
    "tastes that are no numbers": made(lambda t: np.full_like(t, np.nan), "prior_tastes"),
    "no prior": made(gone, *PRIOR_KINDS),
    "a pool backwards": made(lambda pool: pool[::-1], "prior_pool"),
    "a pool beyond": put("prior_pool", -1, 60),
    "a pool without what all are shown": lambda arrays: arrays.update(
        prior_pool=np.setdiff1d(arrays["prior_pool"], arrays["shared_slate"][:1])
    ),
    "no pool": made(lambda pool: pool[:0], "prior_pool"),
    "slates of half the buckets": made(lambda each: each[:, ::2], *SLATES),
    "no slates": made(gone, *SLATE_KINDS),
    "slates without masses": made(gone, "bucket_masses"),
    "an item twice": lambda arrays: put(
        "bucket_slates", (0, 0, 1), arrays["bucket_slates"][0, 0, 0]
    )(arrays),
    "an item of no catalog": put("bucket_slates", (0, 0, 1), 60),
    "a worth that is no number": put("bucket_own_worth", (0, 0, 0), np.nan),
    "masses below zero": put("bucket_masses", 0, -0.5),
    "slates too short": made(lambda each: each[:, :, :-1], *SLATES),
}


@pytest.mark.thin
@pytest.mark.parametrize("case", FORGED)
def test_a_forged_prior_is_refused(tmp_path: Path, case: str, forge: Callable[..., None]) -> None:
    directory = tmp_path / "model"
    artifact.save(cohort_model(), directory)
    decoded = decode((directory / "arrays.safetensors").read_bytes())
    arrays = {name: array.copy() for name, array in decoded.items()}
    FORGED[case](arrays)
    forge(directory, arrays=arrays)
    with pytest.raises(ArtifactError):
        artifact.load(directory)


def test_an_update_keeps_the_prior_and_the_space() -> None:
    """Planted bug: seen items not renumbered, so that masks lie on other items."""
    old = cohort_model()
    table = small_table()
    fewer = table.item >= 5
    less = replace(
        table, person=table.person[fewer], item=table.item[fewer], rating=table.rating[fewer]
    )
    new = update(old, less, {}, source="later")
    assert new.card.space == old.card.space
    assert new.prior is not None
    assert old.prior is not None
    for key in set(new.keys) & set(old.keys):
        columns = (
            old.prior.seen[:, [old.keys.index(key)]],
            new.prior.seen[:, [new.keys.index(key)]],
        )
        assert columns[0].toarray().tolist() == columns[1].toarray().tolist()
    assert len(retriever(new).answer(point_query(new, 0.5, 0.5)).item_ids) == 4


# -- published priors ------------------------------------------------------------------------------


def with_prior(prior: PriorSource) -> ItemModel:
    return train(small_table(), {}, replace(OPTIONS, rule="posterior"), source="s", prior=prior)


def test_published_ratings_are_folded_in_and_unknown_items_left_out(tmp_path: Path) -> None:
    public = small_table(80)
    path = tmp_path / "public.csv"
    rows = zip(public.person.tolist(), public.item.tolist(), public.rating.tolist(), strict=True)
    keys = {**dict(enumerate(public.item_keys)), 3: "a film that the model does not have"}
    lines = [f"{person},{keys[item]},{rating}" for person, item, rating in rows]
    path.write_text("\n".join(["user,item,rating", *lines]))
    model = with_prior(PublishedRatings(read_ratings(path)[0], path.name))
    assert model.prior is not None
    assert model.card.rule.prior == f"published ratings public.csv: {len(model.prior)} people"
    assert 60 <= len(model.prior) <= 80
    gone = model.keys.index(public.item_keys[3])
    assert model.prior.seen[:, [gone]].sum() == 0


# -- the command -----------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Ratings and items as the command wants them."""
    table = small_table()
    rows = zip(table.person.tolist(), table.item.tolist(), table.rating.tolist(), strict=True)
    lines = [f"{p},i{i},{r}" for p, i, r in rows]
    (tmp_path / "ratings.csv").write_text("\n".join(["user,item,rating", *lines]) + "\n")
    items = [f"i{i},Film {i}" for i in range(len(table.item_keys))]
    (tmp_path / "items.csv").write_text("\n".join(["item,title", *items]) + "\n")
    options = ["--ratings", "ratings.csv", "--items", "items.csv"]
    return ["train", *[o if o.startswith("-") else str(tmp_path / o) for o in options]]


SMALL = ["-k", "4", "--ranking-dimension", "6"]


@pytest.mark.slow
def test_a_prior_is_paid_for_once_and_made_twice_the_same(tmp_path: Path, files: list[str]) -> None:
    ledger_files = [tmp_path / "ledger.sqlite", tmp_path / "mark"]
    with Ledger(*ledger_files) as ledger:
        cap = PrivacyFilter(epsilon=Fraction(3))
        ledger.open_dataset("ratings", "1", cap, "one person's whole history", ADD_OR_REMOVE_ONE)
    paying = ["--prior-dp", "2", "--ledger", str(ledger_files[0]), "--mark", str(ledger_files[1])]
    for name in ("a", "b"):
        command = [*files, *SMALL, *paying, "--dataset", "ratings", "--out", str(tmp_path / name)]
        done = CliRunner().invoke(cli, command)
        assert done.exit_code == 0, done.output
        assert "epsilon = 2 differential privacy" in done.output
    for file in ("manifest.json", "card.binpb", "arrays.safetensors"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    with Ledger(*ledger_files) as ledger:
        assert ledger.dataset("ratings").spent.epsilon == 2


@pytest.mark.slow
def test_a_prior_of_other_ratings_is_another_release_and_says_so(
    tmp_path: Path, files: list[str]
) -> None:
    """Fixed vectors do not change with the people. Planted bugs: the release of before, taken for
    that of other ratings; a second data set over the same ratings that spends without a word.
    """
    places = [tmp_path / "ledger.sqlite", tmp_path / "mark"]
    with Ledger(*places) as ledger:
        cap = PrivacyFilter(epsilon=Fraction(3))
        for dataset in ("ratings", "other"):
            ledger.open_dataset(dataset, "1", cap, "one person's history", ADD_OR_REMOVE_ONE)
    made = CliRunner().invoke(cli, [*files, *SMALL, "--out", str(tmp_path / "vectors")])
    assert made.exit_code == 0, made.output

    def said(out: str, dataset: str) -> str:
        paying = ["--prior-dp", "1", "--ledger", str(places[0]), "--mark", str(places[1])]
        given = ["--vectors-from", str(tmp_path / "vectors"), "--dataset", dataset]
        command = [*files, *SMALL, *paying, *given, "--out", str(tmp_path / out)]
        done = CliRunner().invoke(cli, command)
        assert done.exit_code == 0, done.output
        return done.stderr

    changed, shared = "The events have changed since charge", "was charged for these events too"
    for out in ("a", "b"):
        told = said(out, "ratings")
        assert changed not in told
        assert shared not in told
    assert f"warning: ratings {shared}" in said("c", "other")
    with (tmp_path / "ratings.csv").open("a") as file:
        file.write("newcomer,i0,5\nnewcomer,i1,5\n")
    assert changed in said("d", "ratings")
    with Ledger(*places) as ledger:
        assert ledger.dataset("ratings").spent.epsilon == 2
        events = place_of_file(str(tmp_path / "ratings.csv"))
        assert ledger.sharers("films", EventDigests(bytes(32), events)) == ("other", "ratings")


def test_no_mistyped_ledger_comes_into_being(tmp_path: Path, files: list[str]) -> None:
    """Planted bug: opening it makes one, with a mark of its own."""
    places = [str(tmp_path / name) for name in ("typo.sqlite", "typo.mark")]
    paying = ["--prior-dp", "2", "--ledger", places[0], "--mark", places[1], "--dataset", "r"]
    done = CliRunner().invoke(cli, [*files, *SMALL, *paying, "--out", str(tmp_path / "m")])
    assert done.exit_code != 0
    assert not any(Path(place).exists() for place in places)


@pytest.mark.slow
def test_a_cohort_is_named_by_the_operator_and_warned_of(tmp_path: Path, files: list[str]) -> None:
    command = [*files, *SMALL, "--prior-cohort", "volunteers", "--out", str(tmp_path / "m")]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 0, done.output
    assert "opt-in cohort volunteers" in done.output
    assert "WARNING" in done.output
    assert artifact.load(tmp_path / "m").prior is not None


@pytest.mark.parametrize(
    "options",
    [
        ["--prior-dp", "1"],
        ["--prior-dp", "one", "--ledger", "l", "--mark", "a", "--dataset", "d"],
        ["--prior-dp", "0", "--ledger", "l", "--mark", "a", "--dataset", "d"],
        ["--prior-dp", "1e99999999", "--ledger", "l", "--mark", "a", "--dataset", "d"],
        ["--prior-cohort", "v", "--prior-dp", "1"],
        ["--rule", "posterior"],
    ],
)
def test_half_a_prior_or_two_are_refused(
    tmp_path: Path, files: list[str], options: list[str]
) -> None:
    """Before anything is read, but for a rule that the ratings decide."""
    done = CliRunner().invoke(cli, [*files, *SMALL, *options, "--out", str(tmp_path / "m")])
    assert done.exit_code != 0
    assert ("Reading ratings" in done.output) == (options[0] == "--rule")
    assert not (tmp_path / "m").exists()

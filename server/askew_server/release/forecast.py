"""What a release would cost and how good its list would be, from public numbers alone, in numbers
and in words.

How good it is turns on the counts near the top, which nobody has before a log is counted. For
counts that an operator expects, the mechanism draws from made-up ones; without, it is searched how
many users a mechanism needs. Nothing here sees a log, so all of it is the same on neighboring ones.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from math import floor, log, log2, log10
from pathlib import Path

import numpy as np

from askew.dp.composition import PrivacyFilter, RunningLoss, delta_of
from askew.dp.privacy import REPLACE_ONE, ApproximateDP, BoundedRange
from askew.dp.release import PRIVACY_UNIT, plain_name
from askew.errors import BudgetExceeded, DataError, ParameterError, shown
from askew.mechanisms.kinds import KINDS, Kind
from askew.mechanisms.shortfall import CHANCE, Floats, error_bound
from askew.mechanisms.tally import Integers
from askew.noise.randomness import RandomBits
from askew_server.counting import EventSource
from askew_server.ledger import Dataset
from askew_server.release.plan import (
    MechanismRequest,
    ReleasePlan,
    kind_of,
    noise_in_words,
    parts_of,
    with_default_bound,
)
from askew_server.release.tables import Row, losses, number, within_in_words

RIGHT = 0.95  # of the k items of a list: "19 of 20 right"
# How counts fall where one of them alone is expected: as exp(-(rank / k)^_BEND), by a quarter of a
# percent where the rank at place k grows by one percent. Of the counts that were looked at, a flat
# one: with steeper ones, mechanisms that fail all at once look safe where they are not.
_STEEP, _BEND = 0.25, 0.4
_FLATTEST, _STEEPEST = 0.02, 2.0  # that a list of counts is believed to go on
_NEAR = 0.03  # of k: hits that are too close to tell apart
_TOO_MANY = 40  # log2 of more users than there are people
_MOST = 1 << _TOO_MANY
_LONGEST_COUNT = 40  # digits, beyond what is accepted
_TRIES = 7  # halvings of the range in which the users needed lie
_DRAWS, _FEWER, _LEAST = 32, 12, 2  # of a mechanism from made-up counts
PLANNED = 1000
"""Releases of one data set, as far as anybody plans."""
_WORK = 600_000  # items and places that all draws of a simulation may look at


class SimulatedBits(RandomBits):
    """Bits of a plain generator, the same in every run, for made-up counts: protects nobody."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def read(self, count: int) -> bytes:
        """Return the next `count` bytes of the generator."""
        return self._rng.bytes(count)


def expected_counts(text: str, k: int) -> tuple[tuple[int, ...], str]:
    """Return the public counts that an operator expects, falling, and where they come from, in
    words: (1200,) and "1200 users at place 10, as stated" for "1200"; "1200 users at place 10, of
    NAME (sha256 0123456789abcdef)" for a file.

    text: digits, a number of users at place k, which is then the only count; or the name of a csv
    file with a column `count`, an item a row, in any order: all its counts. Raises DataError for a
    file that cannot be read, has fewer than k counts (or 2), a count below 0 or from 2**40 on, or 0
    at place k, and ParameterError for a number below 1 or from 2**40 on.
    """
    if text.isascii() and text.isdigit():
        users = int(text[:_LONGEST_COUNT])
        if not 1 <= users < _MOST:
            raise ParameterError("expect", text, f"from 1 to {_MOST - 1:,} users")
        return (users,), f"{users} users at place {k}, as stated"
    path = Path(text)
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise DataError(f"{shown(text)}: it cannot be read: {error}") from None
    try:
        rows = csv.DictReader(content.decode("utf-8-sig").splitlines())
        counts = tuple(sorted((int(row["count"]) for row in rows), reverse=True))
    except (UnicodeDecodeError, csv.Error, KeyError, TypeError, ValueError):
        no_counts = "it is no csv with a whole number in a column 'count'"
        raise DataError(f"{path.name}: {no_counts}") from None
    if any(not 0 <= count < _MOST for count in counts):
        raise DataError(f"{path.name}: a count is below 0, or {_MOST:,} or more")
    if len(counts) < max(k, 2):
        raise DataError(f"{text}: at least {max(k, 2)} counts are needed; it has {len(counts)}")
    if not counts[k - 1]:
        raise DataError(f"{text}: the count of place {k} is 0; nothing follows from that")
    digest = sha256(content).hexdigest()[:16]
    name = plain_name(path.name)[:100]
    return counts, f"{counts[k - 1]} users at place {k}, of {name} (sha256 {digest})"


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """One mechanism on a public domain of n_items, or on an unknown one (None).

    asked: with the contribution bound and the delta that the mechanism in fact has. users_needed:
    about how many place k must have for 19 of 20 items listed to be right; None where no number is
    enough. expected_hits: how many of the k are right, if the expectation is; None without one.
    error_bound: with a chance of `CHANCE` or more, and whatever the counts, no item listed is more
    than so many users below the k-th. each_within, all_within: as of the counts of a `Release`.
    """

    mechanism: str
    ranked: bool
    n_items: int | None
    asked: MechanismRequest
    users_needed: int | None
    expected_hits: float | None
    hits_if_half: float | None
    hits_if_twice: float | None
    error_bound: int
    each_within: int | None = None
    all_within: int | None = None

    @property
    def finds_half(self) -> bool:
        """Return True if at least half of the k items, or of all items where these are fewer, are
        expected to be right; False without an expectation.
        """
        k = self.asked.k
        return (self.expected_hits or 0) >= min(k, self.n_items or k) / 2

    def named(self) -> dict[str, str | int | float | None]:
        """Return the forecast as JSON has it: "mechanism", "returns" ("ranking" or "set"), "k",
        "n_items", "epsilon", "delta", "neighbors" ("add or remove one"), "max_items_per_unit", the
        fields from users_needed on, and "chance". Epsilon, delta and chance ("19/20") are exact
        rationals, as text; None stays None.
        """
        asked = self.asked
        request = {
            "mechanism": self.mechanism,
            "returns": "ranking" if self.ranked else "set",
            "k": asked.k,
            "n_items": self.n_items,
            "epsilon": str(asked.epsilon),
            "delta": str(asked.delta),
            "neighbors": asked.neighbors.value,
            "max_items_per_unit": asked.max_items_per_unit,
        }
        figures = {name: value for name, value in vars(self).items() if name not in _ASKED}
        return {**request, **figures, "chance": str(CHANCE)}

    def row(self) -> Row:
        """Return the forecast as a table has it, by the names of `named`: epsilon and delta as
        short decimals ("1e-06"), "none" for None; other fractions are text too ("9.5"), whole
        numbers stay.
        """
        spent = {name: number(getattr(self.asked, name)) for name in ("epsilon", "delta")}
        return {name: _cell(value) for name, value in (self.named() | spent).items()}


_ASKED = ("mechanism", "ranked", "n_items", "asked")  # the fields of a Forecast that are no figures


def forecast(
    mechanism: str,
    asked: MechanismRequest,
    n_items: int | None,
    counts: Sequence[int] | None = None,
    *,
    needs: bool = True,
) -> Forecast:
    """Return the forecast of a mechanism on a request, whose hits, to a tenth, are None without
    expected counts, and whose users_needed are None without `needs`. n_items: of a public domain,
    or None. counts: falling, of the first places; a single one is that of place k. Raises
    ParameterError where mechanism, domain and request do not fit together.
    """
    known, with_counts = n_items is not None, bool(asked.share)
    kind = kind_of(mechanism, known_domain=known, delta=asked.delta, with_counts=with_counts)
    selected, noise = parts_of(asked, kind)
    farthest = error_bound(selected.build(kind), n_items)
    simulation = _Simulation(kind, selected, n_items, counts)
    expected = if_half = if_twice = None
    if counts is not None:
        expected = round(simulation.hits(1, _DRAWS), 1)
        if_half, if_twice = (round(simulation.hits(share, _FEWER), 1) for share in (0.5, 2))
    if noise:
        asked = replace(asked, delta=selected.delta + delta_of(noise.privacy_loss()))
    return Forecast(
        mechanism=mechanism,
        ranked=kind.ranked,
        n_items=n_items,
        asked=asked,
        users_needed=simulation.users_needed() if needs else None,
        expected_hits=expected,
        hits_if_half=if_half,
        hits_if_twice=if_twice,
        error_bound=farthest,
        each_within=noise.error_bound() if noise else None,
        all_within=noise.error_bound(of=asked.k) if noise else None,
    )


def forecasts(
    asked: MechanismRequest,
    n_items: int | None,
    counts: Sequence[int] | None = None,
    *,
    needs: bool = True,
    lists: int = 1,
) -> list[Forecast]:
    """Return a forecast for every mechanism that domain, delta and neighboring relation allow: the
    most expected hits first, without counts the fewest users needed; last those that lose events of
    a public domain to a bound that nobody asked for (100). One that needs no delta is asked with 0,
    unless `asked` has noisy counts. lists: how many share `asked`; a forecast is of one.
    """
    allowed = []
    for name, kind in KINDS.items():
        takes_delta = kind.needs_delta or asked.share
        own = asked if takes_delta else replace(asked, delta=asked.delta * 0)
        with suppress(ParameterError):
            own = with_default_bound(name, own)
            if lists > 1:
                own, _, _ = one_of_many(lists, asked, name, n_items)
            allowed.append(forecast(name, own, n_items, counts, needs=needs))

    def worst_last(row: Forecast) -> tuple[bool, float, float, int]:
        needed = float("inf") if row.users_needed is None else row.users_needed
        return _loses_events(row, asked), -(row.expected_hits or 0), needed, row.error_bound

    return sorted(allowed, key=worst_last)


def one_of_many(
    lists: int, budget: MechanismRequest, mechanism: str, n_items: int | None
) -> tuple[MechanismRequest, PrivacyFilter, ApproximateDP]:
    """Return the request for one list, where a budget pays for `lists` such lists, the cap to open
    their data set with, and what all of them spend together.

    budget: epsilon and delta of all lists together. The epsilon of a list is the largest multiple
    of the unit of the third digit of epsilon / lists that the cap pays for, by the arithmetic of
    the ledger: by zCDP, whose slack is the delta that the lists do not need, or by adding up.
    Raises ParameterError where the budget pays for fewer, and for lists not from 1 to 1000.
    """
    if not 1 <= lists <= PLANNED:
        raise ParameterError("lists", lists, f"from 1 to {PLANNED:,}")
    kind = KINDS.get(mechanism)
    composes = not budget.share and (kind is None or kind.is_ranged)
    delta = Fraction(0)
    if budget.delta and (budget.share or (kind is not None and kind.needs_delta)):
        part = budget.delta / (2 * lists if composes else lists)
        delta = part // _digit(part) * _digit(part)
    slack = budget.delta - delta * lists if composes else Fraction(0)
    slack = slack and slack // _digit(slack) * _digit(slack)
    cap = PrivacyFilter(
        epsilon=budget.epsilon, delta=budget.delta, slack=slack, neighbors=budget.neighbors
    )
    source = EventSource(events="events", catalog=None if n_items is None else "catalog")
    share = budget.epsilon / lists
    digit = _digit(share)

    def requested(digits: int) -> MechanismRequest:
        return with_default_bound(mechanism, replace(budget, epsilon=digits * digit, delta=delta))

    def spent(digits: int) -> ApproximateDP | None:
        names = {"dataset": "lists", "version": "1", "mechanism": mechanism}
        plan = ReleasePlan(**names, source=source, asked=requested(digits))
        loss, running = plan.charge_request(ranged=cap.slack > 0).loss, RunningLoss()
        with suppress(BudgetExceeded):
            for _ in range(lists):
                running = cap.after(running, loss)
            return cap.loss(running)
        return None

    low, high = int(share / digit), int(budget.epsilon / digit) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if spent(middle) else (low, middle)
    total = spent(low)
    if total is None:
        raise ParameterError("lists", lists, "fewer, or a larger delta")
    return requested(low), cap, total


def _digit(value: Fraction) -> Fraction:
    # The unit of a positive number's third digit: 1/100 for 3.14159.
    return Fraction(10) ** (floor(log10(value)) - 2)


def best_of(candidates: Sequence[Forecast], asked: MechanismRequest) -> Forecast | None:
    """Return the forecast to propose: of those whose expected hits are within 3 % of k of the most,
    the one with the most hits if there are half as many users. None without expected counts, or
    where every mechanism has a bound that nobody asked for, which may lose any part of the counts.
    """
    likely = [
        row for row in candidates if row.expected_hits is not None and not _loses_events(row, asked)
    ]
    if not likely:
        return None
    most = max(row.expected_hits or 0 for row in likely)
    near = [row for row in likely if (row.expected_hits or 0) >= most - _NEAR * row.asked.k]
    return max(near, key=lambda row: row.hits_if_half or 0)


class _Simulation:
    """A mechanism on made-up counts, which fall with the item's number."""

    def __init__(
        self,
        kind: Kind,
        asked: MechanismRequest,
        n_items: int | None,
        counts: Sequence[int] | None,
    ) -> None:
        self._has_catalog, self._k = kind.needs_catalog, asked.k
        self._selector = asked.build(kind)
        depth = asked.kbar + 1  # all that a limited domain looks at
        self._n_items = n_items if kind.needs_catalog and n_items else min(n_items or depth, depth)
        self._first = np.array([1.0] if counts is None else counts)
        self._rate = float(asked.epsilon)

    def hits(self, share: float, draws: int) -> float:
        # A mean over at most `draws` lists, where every count is `share` times the expected one.
        falling = np.minimum(np.round(share * self._shape()), 2.0 ** (_TOO_MANY + 8))
        counts: Integers = falling.astype(np.int64)
        work = len(counts) + 100 * self._k  # long lists need fewer draws, and take longer
        times = min(draws, max(_LEAST, _WORK // work))
        bits = SimulatedBits(7)
        lists = (self._selector.select(counts, bits=bits) for _ in range(times))
        right = (item < self._k for chosen in lists for item in chosen)  # counts fall with the item
        return sum(right) / times

    def users_needed(self) -> int | None:
        # To two digits, by bisection of their logarithm; None where no number is enough.
        unit = float(self._shape()[min(self._k, self._n_items) - 1])
        enough = RIGHT * min(self._k, self._n_items)
        if self._n_items <= self._k and self._has_catalog:
            return 1
        subsets = self._k * (1 + log(max(self._n_items, self._k + 1) / self._k))
        middle = log2(max(subsets, 1) / self._rate)
        low, high = max(middle - 8, 0), min(middle + 12, _TOO_MANY)
        if low >= high or self.hits(2**high / unit, _FEWER) < enough:
            return None
        for _ in range(_TRIES):
            middle = (low + high) / 2
            will_do = self.hits(2**middle / unit, _FEWER) >= enough
            low, high = (low, middle) if will_do else (middle, high)
        users = int(2**high)
        size: int = 10 ** max(len(str(users)) - 2, 0)
        return -(-(users + 1) // size) * size

    def _shape(self) -> Floats:
        # By item, (n_items,), falling; beyond what is expected, by the law of _STEEP and _BEND.
        counts = self._first[: self._n_items]
        last, steep = self._k, _STEEP
        if len(counts) > 1:  # as steep as their lower half
            last, half = len(counts), len(counts) // 2
            fall = log(max(counts[half - 1], 1) / max(counts[-1], 1)) / log(last / half)
            steep = min(max(fall, _FLATTEST), _STEEPEST)
        ranks = np.arange(1, self._n_items + 1) / last
        shape: Floats = counts[-1] * np.exp(steep / _BEND * (1 - ranks**_BEND))
        if len(counts) > 1:
            shape[: len(counts)] = counts
        return shape


def _loses_events(row: Forecast, asked: MechanismRequest) -> bool:
    # On a public domain other mechanisms need no bound.
    unasked = row.asked.max_items_per_unit is not None and asked.max_items_per_unit is None
    return unasked and row.n_items is not None


def _cell(value: str | float | None) -> str | int:
    if value is None:
        return "none"
    return str(value) if isinstance(value, float) else value


def explained_in_words(
    asked: MechanismRequest, n_items: int | None, rows: Sequence[Forecast]
) -> list[tuple[str, str]]:
    """Return pairs of a heading and its text, in this order: "selects", "spends", "numbers" if
    there are noisy counts, "proposed" if `best_of` has one, "noise" if there is one row alone, and
    "accuracy", which holds whatever the counts are.
    """
    domain = (
        "of an unknown domain" if n_items is None else f"of the {n_items:,} of a public catalog"
    )
    spends = losses(rows[0].asked.epsilon, rows[0].asked.delta)
    if len(rows) > 1:
        spends = f"at most {losses(asked.epsilon, asked.delta)}"
    lines = [
        ("selects", f"{asked.k} items {domain}"),
        ("spends", f"{spends}; neighbors: {asked.neighbors.value}"),
    ]
    if asked.share:
        lines.append(("numbers", _counts_in_words(rows[0])))
    best = best_of(rows, asked)
    if best is not None:
        lines.append(("proposed", _proposal_in_words(best)))
    if len(rows) > 1:
        return [*lines, ("accuracy", _accuracy_in_words("so many", asked.k))]
    [only] = rows
    kind = KINDS[only.mechanism]
    selected, _ = parts_of(only.asked, kind)
    noise = noise_in_words(selected.build(kind), only.asked.max_items_per_unit)
    accuracy = _accuracy_in_words(f"{only.error_bound:,}", asked.k)
    return [*lines, ("noise", noise), ("accuracy", accuracy)]


def lists_in_words(lists: int, budget: MechanismRequest, chosen: Forecast) -> list[tuple[str, str]]:
    """Return four pairs of a heading and its text: "lists", such as "50, each at epsilon 0.02,
    delta 0, 8.5 of 10 right expected"; "left", the loss that the budget has then; "once" and "each
    time", the commands that open the budget and make a list. Raises ParameterError as
    `one_of_many`.
    """
    own, cap, spent = one_of_many(lists, budget, chosen.mechanism, chosen.n_items)
    hits = ""
    if chosen.expected_hits is not None:
        hits = f", {chosen.expected_hits} of {own.k} right expected"
    replaced = " --neighbors replace" if own.neighbors is REPLACE_ONE else ""
    opened = "".join(
        f" --{name} {number(getattr(cap, name))}" for name in ("epsilon", "delta", "slack")
    )
    release = "askew-server release --dataset films --events log.csv"
    if chosen.n_items is not None:
        release += " --catalog films.csv"
    release += f" -k {own.k} --mechanism {chosen.mechanism} --epsilon {number(own.epsilon)}"
    if chosen.asked.delta:
        release += f" --delta {number(own.delta)}"
    if own.share:
        release += f" --counts {own.share}"
    if budget.max_items_per_unit is not None:
        release += f" --max-items-per-unit {budget.max_items_per_unit}"
    return [
        ("lists", f"{lists}, each at {losses(own.epsilon, chosen.asked.delta)}{hits}"),
        ("left", losses(cap.epsilon - spent.epsilon, cap.delta - spent.delta)),
        ("once", f"askew-server ledger open --dataset films{opened}{replaced}"),
        ("each time", f"{release} --as-of $(date -I)"),
    ]


def plan_in_words(plan: ReleasePlan, dataset: Dataset, foreseen: Forecast) -> list[tuple[str, str]]:
    """Return pairs of a heading and its text, as shown before a release is paid: "will spend", "so
    far", "left" (how many such releases, at most 1000), "data set", "protects", "counts", "domain",
    "selects", "noise", "numbers" if there are noisy counts, "needs" and "accuracy".
    """
    asked, cap, bound = plan.asked, dataset.cap, plan.asked.max_items_per_unit
    loss = plan.charge_request(ranged=dataset.cap.slack > 0).loss
    spends = losses(plan.loss.epsilon, plan.loss.delta)
    if isinstance(loss, BoundedRange):
        slack = f"which takes delta {number(cap.slack)} once for all"
        spends = f"at most {spends}, by zCDP with the others, {slack}"
    running, left = dataset.running, 0
    with suppress(BudgetExceeded):
        while left < PLANNED:
            running, left = cap.after(running, loss), left + 1
    more = " or more" if left == PLANNED else ""
    kept = "every item of a person, each once"
    if bound is not None:
        kept = f"at most {bound} items of one person, each once, by a keyed hash"
    if plan.source.catalog is None:
        domain = "unknown: only what a noisy threshold lets through is listed, so maybe fewer items"
    else:
        domain = f"public: every item of {Path(plan.source.catalog).name}"
    form = "best first" if plan.kind.ranked else "as a set, in the order of their names"
    spent = losses(dataset.spent.epsilon, dataset.spent.delta)
    return [
        ("will spend", f"{spends}, once and for good, also if the job then fails"),
        ("so far", f"{spent} of {losses(cap.epsilon, cap.delta)}"),
        ("left", f"{left:,}{more} such releases, with this one"),
        ("data set", f"{plan.dataset}, version {plan.version}"),
        ("protects", f"{PRIVACY_UNIT}; neighbors: {asked.neighbors.value}"),
        ("counts", f"people per item; {kept}"),
        ("domain", domain),
        ("selects", f"{asked.k} items, {form}, by {plan.mechanism}"),
        ("noise", noise_in_words(plan.selector, bound)),
        *([("numbers", _counts_in_words(foreseen))] if asked.share else []),
        ("needs", _needs_in_words(foreseen)),
        ("accuracy", _accuracy_in_words(f"{foreseen.error_bound:,}", asked.k)),
    ]


def _counts_in_words(foreseen: Forecast) -> str:
    asked = foreseen.asked
    spent = f"for epsilon {number(asked.epsilon * asked.share)} of the total"
    within = within_in_words(foreseen.each_within, foreseen.all_within)
    return f"noisy counts beside the items, {spent}: {within}"


def _needs_in_words(foreseen: Forecast) -> str:
    if foreseen.users_needed is None:
        return "more users than there are, for 19 of 20 items to be right"
    users = f"about {foreseen.users_needed:,} users at place {foreseen.asked.k}"
    return f"{users} for 19 of 20 items to be right"


def expected_in_words(rows: Sequence[Forecast], best: Forecast | None) -> list[tuple[str, str]]:
    """Return ("expected", "of 10 right: canonical 9.8, peeling 9.1"), with every row in its order,
    and ("proposed", the best with its hits, or none if it finds less than half), unless best is
    None.
    """
    hits = ", ".join(f"{row.mechanism} {row.expected_hits}" for row in rows)
    lines = [("expected", f"of {rows[0].asked.k} right: {hits}")]
    return lines if best is None else [*lines, ("proposed", _proposal_in_words(best))]


def _proposal_in_words(best: Forecast) -> str:
    if not best.finds_half:
        return "none: no mechanism is expected to find half; take a larger epsilon or a smaller k"
    hits = f"{best.mechanism}: {best.expected_hits} of {best.asked.k} right"
    return f"{hits}; {best.hits_if_half} with half as many users, {best.hits_if_twice} with twice"


def too_few_in_words(chosen: Forecast, best: Forecast | None, origin: str) -> str:
    """Return the sentences that say why a release is refused that would be mostly noise: what it is
    expected to find and needs, that nothing was spent, which mechanism to take instead, if `best`
    is expected to find half. origin: of what is expected, as `expected_counts` has it.
    """
    instead = ""
    if best is not None and best.finds_half:
        instead = f"--mechanism {best.mechanism} is expected to find {best.expected_hits}; "
    return (
        f"{chosen.mechanism} is expected to find {chosen.expected_hits} of {chosen.asked.k} items"
        f" ({origin}), which is less than half: it needs {_needs_in_words(chosen)}."
        f" Nothing was spent; {instead}without --expect it is released all the same"
    )


def _accuracy_in_words(people: str, k: int) -> str:
    return (
        f"at least {number(100 * CHANCE)} % sure, whatever the counts:"
        f" no item listed is more than {people} people below place {k}"
    )

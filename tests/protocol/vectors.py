"""Makes vectors.json, by which any implementation of the protocol is tested; see docs/protocol.md.

    python tests/protocol/vectors.py

Every row is made by the core and the device's own modules. The random bytes of row n of a section
are the tape of its seed, which `protocol.tape` defines.
"""

from __future__ import annotations

import datetime
import json
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import count, islice, product
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from protocol.tape import Forced, ForcingBits, Kind, TapeBits  # noqa: E402

from askew.catalog.item import Attribute, AttributeKind, Listing, Value  # noqa: E402
from askew.dp.privacy import ANY_SPACE, SignalCharge  # noqa: E402
from askew.errors import (  # noqa: E402
    AskewError,
    BudgetExceeded,
    LedgerRefused,
    Malformed,
    PlaceError,
    StaleSpace,
)
from askew.noise.lattice import LatticeLaplace  # noqa: E402
from askew.noise.randomness import WORD_BITS  # noqa: E402
from askew.protocol.cards import (  # noqa: E402
    ALL,
    ALL_NUMBER,
    CollectionCard,
    MetricCard,
    MetricRuleKind,
    PlaceSlate,
)
from askew.protocol.signal import Query, Signal  # noqa: E402
from askew.spaces.map import (  # noqa: E402
    COSINE_PARTS,
    KM_OF_LATITUDE,
    KM_OF_LONGITUDE,
    Area,
    MapNoise,
    MapSpace,
    Position,
    Region,
    microdegrees,
)
from askew.wire.places import (  # noqa: E402
    all_places_to_bytes,
    metric_card_to_bytes,
    places_from_bytes,
    places_to_bytes,
)
from askew.wire.queries import query_to_bytes  # noqa: E402
from askew_client.near.pick import is_open, judged, missing, preferences_of  # noqa: E402
from askew_client.near.sources import MapSource, results_of  # noqa: E402
from askew_client.settings.regions import countries  # noqa: E402
from askew_client.settings.settings import LEVELS, Caps, ClientSettings  # noqa: E402
from askew_client.signals.store import SignalStore, encode_signal  # noqa: E402

FILE: Final = HERE / "vectors.json"
COUNTRIES: Final = countries()
REGIONS_FILE: Final = HERE.parents[1] / "server/askew_server/serving/web/askew/regions.json"
DRAWS_EACH: Final = 6  # a region and a level
EDGES_EACH: Final = 12  # a level, a coordinate and a side of its grain
Row = list[Any]


def noise_of(level: str, region: int) -> MapNoise:
    """The noise of a level in one of the regions."""
    return MapNoise.in_region(LEVELS[level], COUNTRIES[region].region)


def levels() -> dict[str, dict[str, Any]]:
    """The numbers of each level; no device computes them."""
    found = {}
    for name in LEVELS:
        lattice = noise_of(name, 0).lattice
        coins = [lattice._sector, lattice._noise._coins]
        found[name] = {
            "step_exponent": lattice.step_exponent,
            "inverse_rate": lattice.inverse_rate,
            "digits": lattice._noise.levels,
            "grain": lattice.grain,
            "epsilon_per_km": str(lattice.epsilon),
            "bounds": [[f"{bound:x}" for bound in pair] for each in coins for pair in each.bounds],
        }
    return found


def regions() -> list[Row]:
    """Code, name, south, west, north, east, and c in parts of 1/65536."""
    return [
        [c.code, c.name, r.south, r.west, r.north, r.east, r.cosine]
        for c in COUNTRIES
        for r in [c.region]
    ]


def positions(region: int, rng: random.Random) -> Iterator[Position]:
    """Corners and edges of a region, where a fraction is 0 or both are one; and anywhere in it."""
    area = COUNTRIES[region].region
    yield Position(area.south, area.west)
    yield Position(area.north, area.east)
    digits = (5, 7, 1, 12)
    while True:
        north = area.south + rng.random() * (area.north - area.south)
        east = (area.west + rng.random() * float(area.width) + 180) % 360 - 180
        at = Position(*(round(each, digits[rng.randrange(4)]) for each in (north, east)))
        if area.contains(at):
            yield at


def draws() -> Iterator[Row]:
    """Region, level, latitude, longitude, then the signal in microdegrees; the seed is the row."""
    rng, seeds = random.Random(31), count()
    for region, level in product(range(len(COUNTRIES)), LEVELS):
        area, noise = COUNTRIES[region].region, noise_of(level, region)
        for at in islice(positions(region, rng), DRAWS_EACH):
            signal = noise.perturb(at, area, TapeBits(next(seeds)))
            yield [region, level, at.latitude, at.longitude, *signal]


CLOSE: Final[Sequence[Kind]] = ("heads", "tails", "later heads", "later tails")
AT_ONCE: Final[Sequence[Kind]] = ("first", "not first")


def rare_branches(digits: int) -> Iterator[Forced]:
    """Each coin on its bound, draws that stay, and geometric draws beyond their digits. The throws:
    0 rounds, 1 takes the sector, 2 both geometric draws, and each later one goes beyond.
    """
    halves, row = ((1, 1), (1, 3)), digits + 1
    coins = [(0, 0), (0, 1), *((1, n) for n in range(4)), *((2, n) for n in range(2 * row))]
    for each in coins:
        yield from ({each: kind} for kind in (AT_ONCE if each in halves else CLOSE))
    yield from ({(1, 0): "first", (0, 0): kind} for kind in AT_ONCE)  # the signal stays
    along, across = (2, digits), (2, row + digits)
    for times in range(3):
        more: Forced = {(3 + n, 0): "heads" for n in range(times)}
        yield from ({along: "heads", **more}, {across: "heads", **more})
        yield from ({along: "heads", **more, (3 + times, 0): kind} for kind in CLOSE)


def forced() -> Iterator[Row]:
    """As `draws`, and then the seed, the patches as place and hex, and how many bytes are read."""
    rng = random.Random(32)
    seed = 1_000_000
    for level in LEVELS:
        for plan in rare_branches(noise_of(level, 0).lattice._noise.levels):
            region, seed = rng.randrange(len(COUNTRIES)), seed + 1
            area, at = COUNTRIES[region].region, next(positions_within(region, rng))
            noise, bits = noise_of(level, region), ForcingBits(seed, plan)
            signal = noise.perturb(at, area, bits)
            again = TapeBits(seed, bits.patches)
            assert noise.perturb(at, area, again) == signal
            patches = [[place, patch.hex()] for place, patch in bits.patches.items()]
            row = [region, level, at.latitude, at.longitude, *signal]
            yield [*row, seed, patches, again.read_bytes]


def edges() -> Iterator[Row]:
    """As `draws`, with the seed: draws that lie on an edge of their grain, where a coordinate that
    is rounded at random to another neighbor gives another signal.
    """
    rng, seed = random.Random(38), 4_000_000
    for level, axis, rest in product(LEVELS, (0, 1), (0, 511)):
        found = 0
        while found < EDGES_EACH:
            region, seed = rng.randrange(len(COUNTRIES)), seed + 1
            area, noise = COUNTRIES[region].region, noise_of(level, region)
            at = next(positions_within(region, rng))
            moved = before_grain(noise, area, at, seed)[axis]
            steps = (rest - moved - noise.lattice.grain // 2) % noise.lattice.grain
            at = shifted(at, steps, axis, noise)
            if not area.contains(at):
                continue
            if (before_grain(noise, area, at, seed)[axis] + noise.lattice.grain // 2) % 512 == rest:
                signal = noise.perturb(at, area, TapeBits(seed))
                yield [region, level, at.latitude, at.longitude, *signal, seed]
                found += 1


def before_grain(noise: MapNoise, area: Region, at: Position, seed: int) -> tuple[int, int]:
    """The noisy lattice point of a draw, to the step."""
    lattice, bits = noise.lattice, TapeBits(seed)
    near, move = lattice._round(area.kilometers(at), bits), lattice._draw(bits)
    return near[0] + move[0], near[1] + move[1]


def shifted(at: Position, steps: int, axis: int, noise: MapNoise) -> Position:
    """A position so many steps of the lattice farther along one of its coordinates alone."""
    x, y = noise.lattice.point(*((steps, 0) if axis == 0 else (0, steps)))
    kilometers = KM_OF_LONGITUDE * noise.cosine / COSINE_PARTS
    east = (at.longitude + float(x / kilometers) + 180) % 360 - 180
    return Position(min(90.0, at.latitude + float(y / KM_OF_LATITUDE)), east)


def positions_within(region: int, rng: random.Random) -> Iterator[Position]:
    """Anywhere in a region, and on no edge of it."""
    found = positions(region, rng)
    next(found), next(found)
    return found


def roundings() -> Iterator[Row]:
    """Exact degrees, as fractions, and the microdegrees that go on the wire."""
    rng = random.Random(33)
    half = Fraction(1, 2_000_000)
    exact = [(n + half, m + half) for n, m in ((0, 1), (1, 0), (-1, -2), (52, 13), (-33, -71))]
    exact += [(n + half * 3, m + half * 3) for n, m in ((0, 1), (1, 0), (-1, -2), (52, 13))]
    exact += [(Fraction(n), Fraction(m)) for n, m in ((90, 180), (91, -180), (-95, 181), (0, 540))]
    exact += [(Fraction(0), Fraction(180) + side * half) for side in (-1, 0, 1)]
    exact += [(Fraction(0), Fraction(-180) + side * half) for side in (-1, 0, 1)]
    for _ in range(40):
        north = Fraction(rng.randrange(-(10**12), 10**12), 10**10 + 7)
        exact.append((north, Fraction(rng.randrange(10**13), 7**13)))
    for latitude, longitude in exact:
        yield [str(latitude), str(longitude), *microdegrees(latitude, longitude)]


def lattices() -> Iterator[Row]:
    """Noise on axes and of tastes: the epsilon, step exponent, rate and digits, the exact
    coordinates, and the signal.
    """
    rng = random.Random(34)
    for seed in range(2_000_000, 2_000_120):
        epsilon = (Fraction(4), Fraction(1, 2), Fraction(7, 3), Fraction(200))[seed % 4]
        lattice = LatticeLaplace.for_epsilon(epsilon)
        point = [
            Fraction(rng.randrange(-(10**6), 10**6), 10**6 - seed % 5) for _ in range(1 + seed % 3)
        ]
        signal = lattice.perturb(point, TapeBits(seed))
        numbers = [str(epsilon), lattice.step_exponent, lattice.inverse_rate, lattice.noise.levels]
        yield [seed, *numbers, [*map(str, point)], [*signal]]


def requests(drawn: Sequence[Row]) -> Iterator[Row]:
    """The row of a draw, the number of a collection, k, the Monday of held rows, and the bytes."""
    rng = random.Random(35)
    for n in range(0, len(drawn), len(drawn) // 120):
        region, level, _, _, *signal = drawn[n]
        noise = noise_of(level, region)
        made = Signal(ANY_SPACE, noise, (signal[0], signal[1]))
        number, date = (0, 1, 7, 255, ALL_NUMBER)[n % 5], (0, 0, 20_780)[n % 3]
        query = Query(made, rng.randrange(1, 257), number, date, holds_rows=date > 0)
        yield [n, number, query.k, date, query_to_bytes(query).hex()]


def other_requests(on_lattices: Sequence[Row]) -> Iterator[Row]:
    """Which section, the row of it, the number of a collection or null for tastes, k, the Monday,
    and the bytes of the question.
    """
    for n in range(0, len(on_lattices), 20):
        _, _, exponent, rate, _, _, values = on_lattices[n]
        lattice = LatticeLaplace(exponent, rate)
        signal = Signal("ab" * 16, lattice, tuple(values))
        for number, k in ((None, 8), (3, 9)):
            query = Query(signal, k, number, 20_780)
            yield ["lattices", n, number, k, 20_780, query_to_bytes(query).hex()]


CUISINES: Final = ("italian", "Thai", "GREEK", "Straße", "café")
FOOD: Final = (
    Attribute("cuisine", AttributeKind.CATEGORY, words=CUISINES),
    Attribute("price", AttributeKind.NUMBER, unit="EUR"),
    Attribute("hours", AttributeKind.HOURS),
    Attribute("garden", AttributeKind.FLAG),
)
POWER: Final = (
    Attribute("free", AttributeKind.NUMBER, live=True),
    Attribute("open_now", AttributeKind.FLAG, live=True),
    Attribute("hours", AttributeKind.HOURS),
    Attribute("operator", AttributeKind.CATEGORY, live=True),
)


def cards() -> tuple[MetricCard, ...]:
    """What four servers say of themselves."""
    food = CollectionCard("food", "0a" * 16, 5000, "SIMULATED", True, FOOD, 120)
    power = CollectionCard("power", "0b" * 16, 900, "an open list", False, POWER, 70, number=255)
    plain = CollectionCard("plain", "0c" * 16, 7, "SIMULATED", True, (), 31, number=7)
    heavy = CollectionCard("heavy", "0d" * 16, 900, "SIMULATED", True, (), 4_000, number=3)
    few = MetricRuleKind.ITEMS
    return (
        MetricCard(MapSpace(Area(47.0, 5.5, 55.5, 15.5)), (food, power, plain), 160, few, "towns"),
        MetricCard(MapSpace(Area(-21.0, 176.0, -15.0, -177.0)), (plain, food), 64, few),
        MetricCard(
            MapSpace(Area(-90.0, -180.0, 90.0, 180.0)), (power,), 40, MetricRuleKind.NEAREST
        ),
        MetricCard(MapSpace(Area(47.0, 5.5, 55.5, 15.5)), (heavy,), 256, few),
    )


SAID: Final = "number name version n_items source simulated item_bytes mode"


def said(card: MetricCard) -> dict[str, Any]:
    """A card as a device reads it, and how many results it asks for by itself."""
    assert isinstance(card.space, MapSpace)
    area, names = card.space.area, [*(each.name for each in card.collections), ALL]
    return {
        "area": [area.south, area.west, area.north, area.east],
        "max_slate_size": card.max_slate_size,
        "rule": card.rule,
        "density": card.density,
        "collections": [
            {name: getattr(collection, name) for name in SAID.split()}
            | {
                "attributes": [
                    [a.name, a.kind, a.live, a.unit, [*a.words]] for a in collection.attributes
                ]
            }
            for collection in card.collections
        ],
        "results": {name: results_of(card, name, 0) for name in names},
        "largest": {name: card.largest_slate(name) for name in names},
    }


SCRIPTS: Final = ("№0", "می\u200cشود", "👨\u200d👩\u200d👧", "Soft\u00adly", "\u200fקפה")
HOURS_BY_BARS: Final = (
    "24/7|Mo-Fr 08:00-18:00; Sa 09:00-13:00|Mo-Su 18:00-02:00"
    "|Fr-Mo 10:00-12:00,13:00-17:00; Sa off|08:00-20:00; Su closed|Tu, Th 7:30-24:00|off"
    "|we 00:00-24:00|Mo 22:00-22:00|sunrise-sunset|Mo-We-Fr 08:00-12:00|Xx 08:00-12:00"
    "|Mo 25:00-26:00|Mo 08:60-09:00||;;|Mo 8:0-9:00"
    "|Mo \u0660\u0668:\u0660\u0660-\u0660\u0669:\u0660\u0660|Mo\u200308:00-09:00"
    "|Mo 08:00 - 09:00|Mo-Fr 08:00-12:00 off|Mo-Fr 08:00-12:00, Sa 09:00-13:00, Su off"
    "|Mo-Su 18:00-26:00; Su 01:00-02:00 off|08:00-20:00; 09:00-10:00 closed, We 09:15-09:45"
    "|24:00-48:00|Mo 18:00-48:01|Mo off closed|Mo 08:00-12:00 ,Sa 12:00-13:00|Mo 08:00-12:00,"
)
HOURS: Final = HOURS_BY_BARS.split("|")
PREFERENCES: Final = (
    "",
    "cuisine = italian | thai",
    "cuisine: italian +30, cuisine: greek -10",
    "price <= 12.5\n1 EUR = 2 km",
    "open",
    "open now, exponent 2, 1 eur = 0.5 km",
    "garden = yes",
    "garden: no +5, exponent 0.5",
    "view = sea",
    "exponent 3, 1 EUR = -2 km, cuisine: STRASSE +40  # a comment",
    "price <= 10, hours <= 3",
    '"cuisine" = "café", 1 free = 1',
    "operator: acme +12, 1 free = -0.25 km",
    "cuisine: unknown word +3",
)
UNREADABLE: Final = "price|1 EUR 2|exponent 5|cuisine: x 3|price <= 1e3|a = b = c"
NOWS: Final = tuple(
    datetime.datetime(2026, 11, 23 + day, hour, minute)
    for day, hour, minute in ((0, 9, 30), (5, 12, 59), (6, 1, 59), (6, 2, 0), (4, 23, 15))
)


def opening_hours() -> Iterator[Row]:
    """Hours, the day of the week from Monday = 0, the minute of it, and whether that is open; None
    for hours that cannot be read.
    """
    for text in HOURS:
        for now in NOWS:
            yield [text, now.weekday(), 60 * now.hour + now.minute, is_open(text, now)]


def value_of(attribute: Attribute, rng: random.Random) -> Value:
    if rng.random() < 0.15:
        return None
    match attribute.kind:
        case AttributeKind.CATEGORY:
            return rng.choice(attribute.words or ("Acme", "ACME", "other"))
        case AttributeKind.NUMBER:
            return float(rng.choice([rng.randrange(40), round(40 * rng.random(), 2), -3]))
        case AttributeKind.FLAG:
            return rng.random() < 0.5
        case _:
            return rng.choice(HOURS[:14])


def listings(
    card: MetricCard, asked: CollectionCard, count: int, rng: random.Random
) -> tuple[Listing, ...]:
    """Items of a collection, near each other and in order of their ids."""
    assert isinstance(card.space, MapSpace)
    area = card.space.area
    middle = area.south + rng.random() * (area.north - area.south), rng.random() * float(area.width)
    found = []
    for number in sorted(rng.sample(range(asked.n_items), count)):
        north = min(area.north, max(area.south, middle[0] + rng.gauss(0, 0.2)))
        east = min(float(area.width), max(0.0, middle[1] + rng.gauss(0, 0.2)))
        at = round(north, 5), round((area.west + east + 180) % 360 - 180, 5)
        values = tuple(value_of(each, rng) for each in asked.attributes)
        found.append(Listing(number, f"{asked.name} {SCRIPTS[number % 5]}", at, values))
    return tuple(found)


def replies() -> Iterator[dict[str, Any]]:
    """Replies, and the private order that a device gives them."""
    rng = random.Random(36)
    for number in range(90):
        which = number % 3
        card = cards()[which]
        names = [*(each.name for each in card.collections), ALL]
        collection = names[rng.randrange(len(names))]
        k = min(rng.choice([1, 7, 20]), card.largest_slate(collection))
        signal = Signal(ANY_SPACE, noise_of("town", 0), (0, 0))
        query = Query(signal, k, card.asked_number(collection))
        parts = [
            (each, listings(card, each, question.k, rng))
            for each, question in zip(card.asked(collection), card.questions(query), strict=True)
        ]
        slates = [places_to_bytes(PlaceSlate(each.version, found), each) for each, found in parts]
        reply = all_places_to_bytes(slates) if collection == ALL else slates[0]
        near = parts[0][1][0].coordinates
        true = near[0] * (1 - 1e-4), near[1]
        text, now = PREFERENCES[number % len(PREFERENCES)], NOWS[number % len(NOWS)]
        yield {
            "card": which,
            "collection": collection,
            "k": query.k,
            "true": true,
            "preferences": text,
            "now": [now.weekday(), 60 * now.hour + now.minute],
            "reply": reply.hex(),
            "answers": [*ranked(reply, card, query, true, text, now)],
        }


def ranked(  # noqa: PLR0917  # all that an order depends on
    reply: bytes,
    card: MetricCard,
    query: Query,
    true: tuple[float, float],
    text: str,
    now: datetime.datetime,
) -> Iterator[dict[str, Any]]:
    """What a device makes of a reply: ids from best to worst, their distances, whether each passes,
    and what preferences name that is not there.
    """
    preferences = preferences_of(text)
    source = source_of(card, query, true)
    slates = places_from_bytes(reply, card, query)
    for slate, asked in zip(slates, card.asked(query.collection), strict=True):
        if not all(source.holds(each.coordinates) for each in slate.listings):
            raise Malformed("the answer has an item outside the server's own space")
        distances = [source.distance(each.coordinates) for each in slate.listings]
        order = judged(slate.listings, asked.attributes, distances, preferences, {}, now)
        yield {
            "order": [slate.listings[each.index].id for each in order],
            "distances": [each.distance for each in order],
            "passes": [int(each.passes) for each in order],
            "missing": [*missing(asked.attributes, preferences)],
        }


def source_of(card: MetricCard, query: Query, true: tuple[float, float]) -> Any:
    """A true place that asks, in the device's own type."""
    assert isinstance(card.space, MapSpace)
    noise = query.signal.map_noise
    place, area = Position(*true), card.space.area
    return MapSource(place, "", noise, None, area, "", query.k)


OF_FOOD: Final = bytes.fromhex("4500000000")  # the number of the collection


def hostile_replies() -> Iterator[dict[str, Any]]:
    """Replies of the first card that a device refuses, and by which error."""
    rng = random.Random(37)
    card = cards()[0]
    food = card.collection("food")
    query = Query(Signal(ANY_SPACE, noise_of("town", 0), (0, 0)), 3, food.number)
    good = listings(card, food, 3, rng)
    first = good[0]

    def bytes_of(found: Iterable[Listing], version: str = food.version) -> bytes:
        slates = [PlaceSlate(food.version, (listing,)) for listing in found]
        items = b"".join(places_to_bytes(slate, food)[18:-5] for slate in slates)
        return bytes.fromhex("0a10" + version) + items + OF_FOOD

    def with_first(field: str, value: object) -> bytes:
        spoiled = replace(first)
        object.__setattr__(spoiled, field, value)  # which no listing takes
        return bytes_of((spoiled, *rest))

    rest, whole = good[1:], bytes_of(good)
    cases: Mapping[str, bytes] = {
        "too few": bytes_of(rest),
        "too many": bytes_of((*good, replace(good[2], id=4999))),
        "not ascending": bytes_of(good[::-1]),
        "twice the same": bytes_of((first, first, good[2])),
        "another version": bytes_of(good, "ff" * 16),
        "a short version": bytes.fromhex("0a0f" + "00" * 15) + whole[18:],
        "no version": whole[18:],
        "cut off": whole[:-1],
        "not a message": b"\xff\xff\xff",
        "empty": b"",
        "an id beyond": bytes_of((*good[:2], replace(good[2], id=5000))),
        "outside its area": with_first("coordinates", (46.9, 8.0)),
        "one coordinate": with_first("coordinates", (50.0,)),
        "NaN": with_first("coordinates", (float("nan"), 8.0)),
        "beyond a pole": with_first("coordinates", (91.0, 8.0)),
        "no title": with_first("title", ""),
        "a blank title": with_first("title", "  "),
        "a control in a title": with_first("title", "a\x1b[2J"),
        "a direction in a title": with_first("title", "a\u202eb"),
        "a title that shows nothing": with_first("title", " \u200d\u00ad"),
        "a long title": with_first("title", "a" * 501),
        "marks in a title": with_first("title", "a" + "\u0301" * 9),
        "a value too few": with_first("values", first.values[:3]),
        "a flag for a number": with_first("values", (None, True, None, None)),
        "text for a flag": with_first("values", (None, None, None, "yes")),
        "an infinite number": with_first("values", (None, float("inf"), None, None)),
        "long hours": with_first("values", (None, None, "x" * 201, None)),
        "items of tastes": whole + bytes.fromhex("120400000000"),
        "parts of a question for all": whole + bytes.fromhex("3a00"),
        "another collection": whole[:-5] + bytes.fromhex("45ff000000"),
        "no collection": whole[:-5],
    }
    for name, reply in cases.items():
        try:
            [*ranked(reply, card, query, (50.0, 8.0), "", NOWS[0])]
        except AskewError as error:
            yield {"name": name, "reply": reply.hex(), "error": code_of(error)}
        else:
            raise AssertionError(name)


def code_of(error: AskewError) -> str:
    """A name of an error that no language owns."""
    names = {StaleSpace: "stale", BudgetExceeded: "budget", LedgerRefused: "clock"}
    names |= {PlaceError: "place"}
    return next((name for kind, name in names.items() if isinstance(error, kind)), "malformed")


CAPS: Final = ClientSettings().caps
SMALL: Final = replace(CAPS, places_draw=Fraction(1, 2))


def many(handle: str, months: Sequence[str]) -> str:
    """Steps that draw for as many places, one in each of the months."""
    return ";".join(f"draw {handle}{n} {month} town" for n, month in enumerate(months))


LEDGERS: Final[Mapping[str, tuple[Caps, str]]] = {
    "the same place again costs nothing": (
        CAPS,
        """draw home 2026-11 town; draw home 2026-11 town; draw home 2027-03 county;
        price home 2027-04 district; price work 2027-04 district""",
    ),
    "a month's cap, and the next month": (
        CAPS,
        many("p", ["2026-11"] * 6)
        + "; price p6 2026-11 county; draw p7 2026-11 county;"
        + many("q", ["2026-12"] * 6),
    ),
    "the lifetime's cap": (
        CAPS,
        many("p", [f"2026-{n // 5 + 1:02}" for n in range(17)])
        + "; draw last 2026-04 county; draw p0 2026-05 town",
    ),
    "the cap of one position": (SMALL, "draw a 2026-11 district; draw a 2026-11 town"),
    "the largest draw fits its caps": (CAPS, "draw a 2026-11 district"),
    "the clock never runs back": (
        CAPS,
        "draw a 2026-11 town; draw b 2026-02 town; price c 2025-01 town; draw d 2026-12 town",
    ),
    "a clock that jumps": (
        CAPS,
        """draw a 2026-11 town; draw b 2027-11 town; draw c 2028-12 town; draw a 2028-12 town;
        accept - 2028-12 -; draw c 2028-12 town""",
    ),
    "a clock that was accepted": (
        CAPS,
        "draw a 2026-11 town; accept - 2026-01 -; draw b 2026-02 town; draw c 2026-01 town",
    ),
    "a date from the future, and the clock that is accepted after it": (
        CAPS,
        """draw a 2026-11 town; draw b 2027-09 town; draw c 2026-11 town; price d 2026-11 town;
        accept - 2026-11 -; price d 2026-11 town; draw d 2026-11 town; draw e 2026-11 town;
        draw f 2026-11 town; draw g 2026-12 town; price h 2027-09 town""",
    ),
}
"""Steps: what is done, the handle, the month and the level."""


def ledgers() -> Iterator[dict[str, Any]]:
    """Steps of a ledger, and what comes of each. The plane is the first region's; the signal of a
    draw is the sum of its handle's bytes, in microdegrees, twice.
    """
    for name, (caps, steps) in LEDGERS.items():
        with tempfile.TemporaryDirectory() as folder:
            store = SignalStore(Path(folder) / "ledger.sqlite", caps)
            done = [step_of(store, *step.split()) for step in steps.split(";")]
            account = store.account()
            entries = [
                [e.kind, e.handle, e.month, str(e.epsilon_per_km), e.signal and e.signal.hex()]
                for e in account.entries
            ]
            three = caps.places_lifetime, caps.places_monthly, caps.places_draw
            yield {
                "name": name,
                "caps": [*map(str, three)],
                "steps": done,
                "entries": entries,
                "spent": str(account.spent_per_km),
            }


def step_of(store: SignalStore, act: str, handle: str, month: str, level: str) -> dict[str, Any]:
    """One step: what was found and charged, or why not."""
    found: dict[str, Any] = {"act": act, "handle": handle, "month": month, "level": level}
    if act == "accept":
        store.accept(month)
        return found
    noise, number = noise_of(level, 0), sum(handle.encode())
    signal = Signal(ANY_SPACE, noise, (number, number))
    charge = SignalCharge.of_place(noise.epsilon)
    try:
        if act == "price":
            price = store.cost(ANY_SPACE, month, charge, handle=handle)
        else:
            kept, price = store.remember(ANY_SPACE, month, charge, lambda: signal, handle=handle)
            found |= {"record": encode_signal(kept).hex()}
    except BudgetExceeded as error:
        next_month = None if error.next_month is None else error.next_month[:7]
        refusal = {"whose": error.whose, "spent": str(error.spent), "cap": str(error.cap)}
        return found | {"error": "budget", **refusal, "next_month": next_month}
    except AskewError as error:
        return found | {"error": code_of(error)}
    numbers = {"spent": str(price.spent), "spent_this_month": str(price.spent_this_month)}
    return found | {"fresh": price.fresh, "charged_in": price.month, **numbers}


def vectors() -> dict[str, Any]:
    """All of it."""
    drawn, on_lattices = [*draws()], [*lattices()]
    return {
        "format": 1,
        "word_bits": WORD_BITS,
        "levels": levels(),
        "regions": regions(),
        "draws": drawn,
        "forced": [*forced()],
        "edges": [*edges()],
        "roundings": [*roundings()],
        "lattices": on_lattices,
        "requests": [*requests(drawn)],
        "other_requests": [*other_requests(on_lattices)],
        "cards": [{"bytes": metric_card_to_bytes(each).hex(), **said(each)} for each in cards()],
        "opening_hours": [*opening_hours()],
        "no_preferences": UNREADABLE.split("|"),
        "replies": [*replies()],
        "hostile_replies": [*hostile_replies()],
        "ledgers": [*ledgers()],
    }


def text_of(value: object) -> str:
    """JSON with a row a line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def file_of(made: Mapping[str, Any]) -> str:
    """The file: a line for each row of each section."""
    parts = []
    for name, rows in made.items():
        if isinstance(rows, list):
            lines = ",\n".join(map(text_of, rows))
            parts.append(f"{text_of(name)}:[\n{lines}\n]")
        else:
            parts.append(f"{text_of(name)}:{text_of(rows)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(file_of(vectors()), encoding="utf-8")
    REGIONS_FILE.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(map(text_of, regions()))
    REGIONS_FILE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")

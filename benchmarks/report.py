"""The report that the figures of README, docs/utility.md and docs/places.md are taken from.

    python -m benchmarks.report                              simulated ratings, a real map
    python -m benchmarks.report --ratings "MovieLens 1M=ratings.dat"     real ones beside them
    python -m benchmarks.report --only render                writes the documents anew

Parts: `worth`, a signal beside what one would do otherwise; `wants`, the rules of a server;
`utility` and `private`, models of ratings; and, only where it is named, `example`, one
question, whose noise is drawn anew. All take some 15 minutes of one core. What a part
measures goes into docs/report.json with its people, seeds and standard errors, and from there into
the documents, between `<!-- report: NAME -->` and `<!-- end of report -->`, and into pictures. What
is not measured stays as it was: nobody needs to have all the ratings.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any, Final

from benchmarks import private_model, reference, tastes
from benchmarks.claims import claims_as_rows, deployments_as_rows
from benchmarks.places import wants, worth
from benchmarks.places.country import CROWDS, Country, france, rounded
from threadpoolctl import threadpool_limits

from askew.spaces.map import Position
from askew_server.demo.places import GERMANY, german_towns
from askew_server.demo.simulation import films, simulate
from askew_server.ratings import RatingTable, read_ratings
from askew_server.taste.measures import Estimate

DOCS: Final = Path("docs")
REPORT: Final = DOCS / "report.json"
PARTS: Final = ("worth", "wants", "utility", "private")
SIMULATED: Final = "simulated films"
BERLIN: Final = Position(52.52, 13.405)
_BLOCK = re.compile(r"(<!-- report: ([\w-]+) -->\n).*?(<!-- end of report -->)", re.DOTALL)
_PEOPLE = {"towns": "in towns", "country": "in the country"}
Report = dict[str, Any]
Rows = Iterable[Sequence[str]]


def utility_of(table: RatingTable, seeds: Sequence[int]) -> Report:
    """Measure what every way and rule is worth on these ratings."""
    cells = tastes.measured(table, seeds=seeds, progress=lambda line: print(line, flush=True))
    return {
        "people": table.n_people,
        "ratings": len(table),
        "seeds": list(seeds),
        "clients": cells[0].n_clients,
        "cells": [_taste(cell) for cell in cells],
    }


def _taste(cell: tastes.Cell) -> Report:
    rule, k, epsilon = cell.label
    names = ("ndcg", "recall", "gain", *(() if isnan(cell.best.mean) else ("best",)))
    label = {"rule": rule, "k": k, "epsilon": epsilon, "worse": cell.worse, "better": cell.better}
    return label | {name: rounded(getattr(cell, name)) for name in names}


def private_of(table: RatingTable, items: int) -> Report:
    """Measure what privacy costs a model of these ratings."""
    return {
        "people": table.n_people,
        "items": items,
        "seeds": list(private_model.SEEDS),
        "cells": list(private_model.measured(table, items)),
    }


def measured(parts: Sequence[str], options: argparse.Namespace) -> Report:
    """Measure these parts."""
    report: Report = {}
    paths = [text.partition("=")[::2] for text in options.ratings]
    if "worth" in parts:
        countries = [france(seed) for seed in options.seeds]
        report["worth"] = worth.measured(countries, (20_000, 200_000), options.people)
        report["worth"]["curve"] = worth.curve(countries[0], 200_000, options.people)
    if "example" in parts:
        country = Country(german_towns(), GERMANY)
        report["example"] = worth.example(country, BERLIN, 30_000)
    if "wants" in parts:
        report["wants"] = wants.measured(france(0), 100_000, options.people, (20, 64))
    if "utility" in parts:
        tables = {SIMULATED: simulate(films())}
        tables |= {name: read_ratings(Path(path))[0] for name, path in paths}
        report["utility"] = {
            name: utility_of(table, options.seeds) for name, table in tables.items()
        }
    if "private" in parts and paths:
        report["private"] = private_of(read_ratings(Path(paths[0][1]))[0], 1500)
    return report


# -- the documents ---------------------------------------------------------------------------------


def blocks_of(report: Report) -> Mapping[str, str]:
    """Return the text of each block."""
    tables: dict[str, Rows] = {
        "worth": _worth(report["worth"]),
        "worth-odds": _odds(report["worth"]),
        "utility-nothing-sent": _nothing_sent(report),
        "utility-rules": _rules(report),
        "utility-held": _held(report),
        "utility-best": _best(report),
        "places-wants": _wants(report),
        "private-model": _private(report),
        "claims": claims_as_rows(),
        "deployments": deployments_as_rows(),
    }
    of_wants = report["wants"]
    logs = report["utility"].items()
    texts = {
        "before-after": _before_after(report["example"]),
        "why": _why(report["worth"]),
        "worth-people": _worth_people(report["worth"]),
        "utility-people": "".join(
            f"- **{name}**: {log['people']:,} people, {log['ratings']:,} ratings, seeds "
            f"{', '.join(map(str, log['seeds']))}, {log['clients']:,} clients\n"
            for name, log in logs
        ),
        "places-people": (
            f"{of_wants['items']:,} items, {of_wants['people']:,} people a crowd, seed "
            f"{of_wants['seed']}, level `town`.\n"
        ),
    }
    return texts | {name: _as_table(rows) for name, rows in tables.items()}


def _before_after(example: Report) -> str:
    home, sent = (", ".join(f"{each:.4f}" for each in example[name]) for name in ("home", "sent"))
    return (
        f"A usual app sends **{home}**: where you are.\\\n"
        f"Askew sends **{sent}**, the same for ever.\n"
    )


WAYS: Final = {  # names of README and of docs/utility.md; README leaves out those without a first
    "signal": ("**Askew**", "Askew's signal"),
    "cell half, nearest": ("", "small cell, nearest"),
    "cell half, spread": ("position rounded to {half:.0f} km", "small cell, spread"),
    "cell most, nearest": ("", "large cell, nearest"),
    "cell most, spread": ("position rounded to {most:.0f} km", "large cell, spread"),
    "list": ("4 kB a day of a list, held", "list of the same bytes"),
    "polled": ("", "list and values, polled"),
    "fetched": ("the whole list, held; free tables fetched", "list and values, fetched"),
    "true": ("the true position", "true position"),
}


def _why(of: Report) -> str:
    size = of["sizes"][-1]
    ways = {row["way"]: row for row in size["ways"]}
    near, far = of["apart"]
    heading = ("", "km beyond the best: towns, country", "no pick", "a day", "homes 1, 10 km apart")
    rows: list[Sequence[str]] = [heading]
    told = {
        "signal": f"odds change {near['odds']:.1f}, {far['odds']:.0f} times at most",
        "list": "nothing",
        "fetched": "nothing, but when you ask",
        "true": "told apart for certain",
    } | {
        f"cell {cell}, spread": (
            f"told apart for certain: {near['cells'][cell][0]:.0%}, {far['cells'][cell][0]:.0%}"
        )
        for cell in of["cells"]
    }
    for way, (name, _) in WAYS.items():
        if name:
            row = ways[way]
            extra = ", ".join(f"{row[crowd]['extra'][0]:.1f}" for crowd in CROWDS)
            none = max(row[crowd]["none"] for crowd in CROWDS)
            rows.append(
                [name.format(**of["cells"]), extra, f"{none:.0%}", _size(row["bytes"]), told[way]]
            )
    signal, fetched = ways["signal"]["bytes"], ways["fetched"]["bytes"]
    return _as_table(rows) + (
        f"\nA signal wins where the list, or what changes in it, is too large to hold: here "
        f"{_size(signal)} a day, not {_size(fetched)}.\nHold the list wherever it fits: that is "
        "exact, and tells nothing of you.\n"
    )


def _worth(of: Report) -> Rows:
    yield ["places", "way", "in towns", "no pick", "in the country", "no pick", "bytes a day"]
    for size in of["sizes"]:
        for row in size["ways"]:
            name = WAYS[row["way"]][1]
            crowds = [
                text
                for crowd in CROWDS
                for text in (_km(row[crowd]["extra"]), f"{row[crowd]['none']:.1%}")
            ]
            yield [f"{size['items']:,}", name, *crowds, f"{row['bytes']:,}"]


def _odds(of: Report) -> Rows:
    distances = [apart["km"] for apart in of["apart"]]
    yield ["way", *(f"{km} km" for km in distances), *(f"{km} km, in a year" for km in distances)]
    odds = [f"odds at most {apart['odds']:g} times, none certain" for apart in of["apart"]]
    yield ["Askew's signal", *odds, "the same", "the same"]
    for cell, name in (("half", "small cell"), ("most", "large cell")):
        shares = [apart["cells"][cell][late] for late in (0, 1) for apart in of["apart"]]
        yield [f"{name}, {of['cells'][cell]:g} km", *(f"{each:.1%} certain" for each in shares)]
    yield ["lists", *["nothing"] * 4]
    yield ["true position", *["100% certain"] * 4]


def _worth_people(of: Report) -> str:
    held = ", ".join(f"{size['held']:,} of {size['items']:,}" for size in of["sizes"])
    return (
        f"{len(of['seeds']) * of['people']:,} people a crowd, seeds "
        f"{', '.join(map(str, of['seeds']))}, k = {of['k']}, level `town`; {of['source']}, all "
        f"else SIMULATED. The list of the same bytes has {held} places.\n"
    )


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1000:.0f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:.1f} MB"


def _nothing_sent(report: Report) -> Rows:
    logs = report["utility"]
    yield ["nothing sent", *(f"{log}: {m}" for log in logs for m in ("NDCG@10", "recall@20"))]
    first = next(iter(logs.values()))["cells"]
    for name in [cell["rule"] for cell in first if not cell["k"] and not _is_held(cell)]:
        cells = [_only(log["cells"], rule=name, k=0) for log in logs.values()]
        estimates = [_estimate(cell.get(m)) for cell in cells for m in ("ndcg", "recall")]
        yield [f"`{name}`", *estimates]


def _rules(report: Report) -> Rows:
    asked = [cell for cell in _last(report) if cell["k"] and not _is_held(cell)]
    ks = sorted({cell["k"] for cell in asked})
    yield ["rule", "ε a rating", *(f"k = {k}" for k in ks), f"worse, better at k = {ks[-1]}"]
    for rule, epsilon in dict.fromkeys((cell["rule"], cell["epsilon"]) for cell in asked):
        cells = [_only(asked, rule=rule, epsilon=epsilon, k=k) for k in ks]
        gains = [f" {signed(Estimate(*cell['gain']))}" if epsilon else "" for cell in cells]
        yield [
            f"`{rule}`",
            f"{epsilon:g}" if epsilon else "",
            *(short(cell["ndcg"][0]) + gain for cell, gain in zip(cells, gains, strict=True)),
            f"{cells[-1]['worse']}, {cells[-1]['better']}" if epsilon else "",
        ]


def _held(report: Report) -> Rows:
    """Of the last log, what is asked beside what is held: NDCG@10, and its gain over the row before
    for everybody's slate, over that for what is asked.
    """
    held = [cell for cell in _last(report) if _is_held(cell)]
    names = list(dict.fromkeys(cell["rule"] for cell in held))
    yield ["k = 20, beside the first items", *names]
    for k, epsilon in dict.fromkeys((cell["k"], cell["epsilon"]) for cell in held):
        name = f"asked at {epsilon:g} a rating" if epsilon else "the same for all"
        cells = [_only(held, rule=rule, k=k, epsilon=epsilon) for rule in names]
        gains = [f" {signed(Estimate(*cell['gain']))}" if k else "" for cell in cells]
        yield [
            name if k else "nothing",
            *(short(cell["ndcg"][0]) + gain for cell, gain in zip(cells, gains, strict=True)),
        ]


def _best(report: Report) -> Rows:
    cells = [
        cell
        for cell in _last(report)
        if cell["k"] and cell["epsilon"] in {0, 1} and not _is_held(cell)
    ]
    ks = sorted({cell["k"] for cell in cells})
    yield ["rule", *(f"k = {k}" for k in ks)]
    for rule in dict.fromkeys(cell["rule"] for cell in cells):
        yield [f"`{rule}`", *(_estimate(_only(cells, rule=rule, k=k)["best"]) for k in ks)]


def _last(report: Report) -> list[Report]:
    log: list[Report] = list(report["utility"].values())[-1]["cells"]
    return log


def _is_held(cell: Report) -> bool:
    return str(cell["rule"]).startswith("held")


def _wants(report: Report) -> Rows:
    cells = report["wants"]["cells"]
    names = list(dict.fromkeys(cell["rule"] for cell in cells))
    yield ["who", "k", "wish", *(f"`{name}`" for name in names)]
    for crowd, k, wish in dict.fromkeys((c["crowd"], c["k"], c["wish"]) for c in cells):
        row = [_only(cells, crowd=crowd, k=k, wish=wish, rule=name) for name in names]
        none = [f", none {cell['none']:.1%}" if cell["none"] else "" for cell in row]
        texts = [_km(cell["extra"]) + text for cell, text in zip(row, none, strict=True)]
        yield [_PEOPLE[crowd], str(k), wish, *texts]


def _private(report: Report) -> Rows:
    names = ("NDCG@10", "of that without noise", "NDCG@10, a quarter oftener", "popularity")
    yield ["people", "ε", *names]
    for cell in report["private"]["cells"]:
        simulated = " SIMULATED" if cell["copies"] > 1 else ""
        estimates = [cell[name] for name in ("ndcg", "share", "quarter", "popularity")]
        yield [f"{cell['people']:,}{simulated}", f"{cell['epsilon']}", *map(_estimate, estimates)]


def _only(cells: Iterable[Report], **fixed: object) -> Report:
    return next((c for c in cells if all(c[n] == v for n, v in fixed.items())), {})


def _km(pair: Sequence[float]) -> str:
    return f"{pair[0]:.2f} ± {pair[1]:.2f}"


def _estimate(pair: Sequence[float] | None) -> str:
    return "" if pair is None else either_way(Estimate(*pair))


def signed(estimate: Estimate) -> str:
    """Return a difference with its standard error."""
    return f"{'-' if estimate.mean < 0 else '+'}{either_way(estimate)}"


def either_way(estimate: Estimate) -> str:
    """Return a mean without its sign, and its standard error."""
    return f"{short(abs(estimate.mean))} ± {short(estimate.error)}"


def short(value: float) -> str:
    """Return three digits, as shares are written."""
    return f"{value:.3f}".removeprefix("0") if value < 0.9995 else f"{value:.2f}"


def _as_table(rows: Rows) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    columns = lines[0].count("|") - 1
    return "\n".join([lines[0], f"|{'---|' * columns}", *lines[1:]]) + "\n"


def rendered(text: str, blocks: Mapping[str, str]) -> str:
    """Return a document with these blocks. Raises KeyError for one that the report has not."""
    return _BLOCK.sub(lambda found: found[1] + blocks[found[2]] + found[3], text)


def documents() -> list[Path]:
    """Return those that have a block."""
    pages = [Path("README.md"), *sorted(DOCS.glob("*.md"))]
    return [page for page in pages if _BLOCK.search(page.read_text("utf-8"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=(*PARTS, "example", "render"), action="append")
    parser.add_argument("--ratings", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--people", type=int, default=1000, help="of each crowd of a country")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    with threadpool_limits(1):
        fresh = measured(options.only or PARTS, options)
    report: Report = json.loads(REPORT.read_text("utf-8")) if REPORT.exists() else {}
    logs = report.get("utility", {}) | fresh.get("utility", {})
    report |= fresh | ({"utility": logs} if logs else {})
    REPORT.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for page in documents():
        page.write_text(rendered(page.read_text("utf-8"), blocks_of(report)), encoding="utf-8")
    reference.written()
    from benchmarks import figures  # matplotlib takes a second, and tests of documents need none

    figures.draw_report(report)


if __name__ == "__main__":
    main()

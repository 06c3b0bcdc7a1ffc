"""The one report that the figures of docs/utility.md and docs/places.md are taken from.

    python -m benchmarks.report                              simulated ratings, a made-up country
    python -m benchmarks.report --ratings "MovieLens 1M=ratings.dat"     real ones beside them
    python -m benchmarks.report --only render                writes the documents anew

Each part is measured, put into docs/report.json with its people, seeds and standard errors, and
from there into the documents, between `<!-- report: NAME -->` and `<!-- end of report -->`. What is
not measured stays as it was: nobody needs to have all the ratings. Claims are of docs/claims.toml.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any, Final

from benchmarks import private_model, reference, tastes
from benchmarks.claims import claims_as_rows, deployments_as_rows
from benchmarks.places import wants
from benchmarks.places.grounds import Country
from benchmarks.places.study import SERVED, PlaceCell, PlacesProtocol, studied
from threadpoolctl import threadpool_limits

from askew_server.demo.places import german_towns
from askew_server.demo.simulation import simulated_table
from askew_server.ratings import RatingTable, read_ratings
from askew_server.taste.measures import Estimate

DOCS: Final = Path("docs")
REPORT: Final = DOCS / "report.json"
PARTS: Final = ("utility", "places", "wants", "private", "render")
_BLOCK = re.compile(r"(<!-- report: ([\w-]+) -->\n).*?(<!-- end of report -->)", re.DOTALL)
SIMULATED: Final = "simulated films"
_PEOPLE = {"all": "in towns", "rural": "in the country"}
Report = dict[str, Any]
Rows = Iterable[Sequence[str]]


def utility_of(table: RatingTable, seeds: Sequence[int]) -> Report:
    """What every mode and rule is worth on these ratings."""
    cells = tastes.measured(table, seeds=seeds, progress=lambda told: print(told, flush=True))
    return {
        "people": table.n_people,
        "ratings": len(table),
        "seeds": list(seeds),
        "clients": cells[0].n_clients,
        "cells": [_cell(cell) for cell in cells],
    }


def _cell(cell: tastes.Cell) -> Report:
    rule, k, epsilon = cell.label
    names = ("ndcg", "recall", "gain", *(() if isnan(cell.best.mean) else ("best",)))
    estimates = {name: _pair(getattr(cell, name)) for name in names}
    return {
        "rule": rule,
        "k": k,
        "epsilon": epsilon,
        "worse": cell.worse,
        "better": cell.better,
        **estimates,
    }


def places_of(protocol: PlacesProtocol) -> Report:
    """What the rules of a map are worth."""
    towns = german_towns().towns
    cells = [cell for part in studied(protocol, towns, _told) for cell in part]
    return {
        "people": protocol.people,
        "draws": protocol.draws,
        "seed": protocol.seed,
        "items": protocol.items[0],
        "cells": [_place(cell) for cell in cells],
    }


def _place(cell: PlaceCell) -> Report:
    return {
        "crowd": cell.label.crowd,
        "k": cell.label.k,
        "rule": str(cell.label.rule),
        "extra": _pair(cell.extra),
        "over_codebook": _pair(cell.over_codebook),
    }


def wants_of(people: int, items: int, ks: Sequence[int], seed: int = 0) -> Report:
    """What results are worth to people with preferences."""
    fair = wants.Fair(Country.of(german_towns().towns, people, seed), items)
    lines = wants.lines_of(fair, ks)
    found = [
        {
            "crowd": line.crowd,
            "k": line.k,
            "rule": str(line.rule),
            "wish": line.wish,
            "extra": _pair(line.extra),
            "none": float(line.none),
        }
        for line in lines
    ]
    return {"people": people, "items": items, "seed": seed, "cells": found}


def private_of(table: RatingTable, items: int) -> Report:
    """What privacy costs a model of these ratings."""
    cells = [
        {
            "people": line.people,
            "copies": line.copies,
            "epsilon": line.epsilon,
            "ndcg": _pair(line.ndcg),
            "share": _pair(line.share),
            "quarter": line.quarter and _pair(line.quarter[0]),
            "als": line.als and _pair(line.als),
            "popularity": _pair(line.popularity),
        }
        for line in private_model.lines_of(table, items, list(private_model.CELLS))
    ]
    return {
        "people": table.n_people,
        "items": items,
        "seeds": list(private_model.SEEDS),
        "cells": cells,
    }


def _pair(estimate: Estimate) -> list[float]:
    return [round(float(estimate.mean), 4), round(float(estimate.error), 4)]


def _told(doing: str, done: float) -> None:
    print(f"{done:4.0%}  {doing}", flush=True)


# -- the documents ---------------------------------------------------------------------------------


def blocks_of(report: Report) -> Mapping[str, str]:
    """The text of each block that the report has figures for."""
    made: dict[str, Callable[[Report], Rows]] = {
        "utility-nothing-sent": _nothing_sent,
        "utility-rules": _rules,
        "utility-held": _held,
        "utility-best": _best,
        "places-rules": _places,
        "places-wants": _wants,
        "private-model": _private,
    }
    found = {name: _as_table(rows(report)) for name, rows in made.items()}
    found["claims"] = _as_table(claims_as_rows())
    found["deployments"] = _as_table(deployments_as_rows())
    found["utility-people"] = "\n".join(
        f"- **{name}**: {each['people']:,} people, {each['ratings']:,} ratings, seeds "
        f"{', '.join(map(str, each['seeds']))}, {each['clients']:,} clients\n"
        for name, each in report["utility"].items()
    ).replace("\n\n", "\n")
    at, of = report["places"], report["wants"]
    found["places-people"] = (
        f"Rules: {at['items']:,} items, {at['people']:,} people a crowd, {at['draws']} draws each, "
        f"seed {at['seed']}. Preferences:\n{of['items']:,} items, {of['people']:,} people a crowd, "
        f"seed {of['seed']}. All at level `town`.\n"
    )
    return found


def _nothing_sent(report: Report) -> Rows:
    """NDCG@10 and recall@20 of each log, beside one another."""
    logs = report["utility"]
    yield ["nothing sent", *(f"{log}: {m}" for log in logs for m in ("NDCG@10", "recall@20"))]
    cells = next(iter(logs.values()))["cells"]
    names = [cell["rule"] for cell in cells if not cell["k"] and not _is_held(cell)]
    for name in names:
        cells = [_only(log["cells"], rule=name, k=0) for log in logs.values()]
        yield [
            f"`{name}`",
            *(_estimate(cell.get(m)) for cell in cells for m in ("ndcg", "recall")),
        ]


def _rules(report: Report) -> Rows:
    """Of the last log, which is a real one where there is one: NDCG@10 and its gain for each k."""
    log = list(report["utility"].values())[-1]
    asked = [cell for cell in log["cells"] if cell["k"] and not _is_held(cell)]
    ks = sorted({cell["k"] for cell in asked})
    yield ["rule", "ε a rating", *(f"k = {k}" for k in ks), f"worse, better at k = {ks[-1]}"]
    for rule, epsilon in dict.fromkeys((cell["rule"], cell["epsilon"]) for cell in asked):
        cells = [_only(asked, rule=rule, epsilon=epsilon, k=k) for k in ks]
        last = cells[-1]
        yield [
            f"`{rule}`",
            f"{epsilon:g}" if epsilon else "",
            *(
                f"{short(cell['ndcg'][0])}"
                + (f" {signed(Estimate(*cell['gain']))}" if epsilon else "")
                for cell in cells
            ),
            f"{last['worse']}, {last['better']}" if epsilon else "",
        ]


def _is_held(cell: Report) -> bool:
    return str(cell["rule"]).startswith("held")


def _held(report: Report) -> Rows:
    """Of the last log, what is asked beside what is held: NDCG@10, and its gain over the row before
    for everybody's slate, over that for what is asked.
    """
    log = list(report["utility"].values())[-1]
    held = [cell for cell in log["cells"] if _is_held(cell)]
    rules = list(dict.fromkeys(cell["rule"] for cell in held))
    yield ["k = 20, beside the first items", *(f"{rule}" for rule in rules)]
    for k, epsilon in dict.fromkeys((cell["k"], cell["epsilon"]) for cell in held):
        name = f"asked at {epsilon:g} a rating" if epsilon else "the same for all"
        cells = [_only(held, rule=rule, k=k, epsilon=epsilon) for rule in rules]
        yield [
            name if k else "nothing",
            *(
                short(cell["ndcg"][0]) + (f" {signed(Estimate(*cell['gain']))}" if k else "")
                for cell in cells
            ),
        ]


def _best(report: Report) -> Rows:
    """Of the last log at 1 a rating: the best item's utility, as a share of the best of all."""
    log = list(report["utility"].values())[-1]
    asked = [
        cell
        for cell in log["cells"]
        if cell["k"] and cell["epsilon"] in {0, 1} and not _is_held(cell)
    ]
    ks = sorted({cell["k"] for cell in asked})
    yield ["rule", *(f"k = {k}" for k in ks)]
    for rule in dict.fromkeys(cell["rule"] for cell in asked):
        cells = [_only(asked, rule=rule, k=k) for k in ks]
        yield [f"`{rule}`", *(_estimate(cell["best"]) for cell in cells)]


def _places(report: Report) -> Rows:
    cells = report["places"]["cells"]
    rules = list(dict.fromkeys(cell["rule"] for cell in cells))
    yield ["who", "k", *(f"`{rule}`" for rule in rules), f"`{SERVED}` less `codebook`"]
    for crowd, k in dict.fromkeys((cell["crowd"], cell["k"]) for cell in cells):
        found = [_only(cells, crowd=crowd, k=k, rule=rule) for rule in rules]
        served = Estimate(*_only(cells, crowd=crowd, k=k, rule=SERVED)["over_codebook"])
        yield [
            _PEOPLE[crowd],
            str(k),
            *(f"{cell['extra'][0]:.2f} ± {cell['extra'][1]:.2f}" for cell in found),
            f"{served.mean:+.3f} ± {served.error:.3f}",
        ]


def _wants(report: Report) -> Rows:
    cells = report["wants"]["cells"]
    rules = list(dict.fromkeys(cell["rule"] for cell in cells))
    yield ["who", "k", "wish", *(f"`{rule}`" for rule in rules)]
    for crowd, k, wish in dict.fromkeys((c["crowd"], c["k"], c["wish"]) for c in cells):
        found = [_only(cells, crowd=crowd, k=k, wish=wish, rule=rule) for rule in rules]
        yield [_PEOPLE[crowd], str(k), wish, *map(_wished, found)]


def _private(report: Report) -> Rows:
    yield [
        "people",
        "ε",
        "NDCG@10",
        "share of no noise",
        "a quarter, four times",
        "private ALS",
        "a list",
    ]
    for cell in report["private"]["cells"]:
        simulated = " SIMULATED" if cell["copies"] > 1 else ""
        yield [
            f"{cell['people']:,}{simulated}",
            f"{cell['epsilon']}",
            *(_estimate(cell[name]) for name in ("ndcg", "share", "quarter", "als", "popularity")),
        ]


def _wished(cell: Report) -> str:
    extra, none = cell["extra"], cell["none"]
    return f"{extra[0]:.2f} ± {extra[1]:.2f}" + (f", none {none:.1%}" if none else "")


def _only(cells: Iterable[Report], **fixed: object) -> Report:
    """The cell with these values, or an empty one."""
    return next((c for c in cells if all(c[n] == v for n, v in fixed.items())), {})


def _estimate(pair: Sequence[float] | None) -> str:
    return "" if pair is None else either_way(Estimate(*pair))


def signed(estimate: Estimate) -> str:
    """A difference with its standard error."""
    return f"{'-' if estimate.mean < 0 else '+'}{either_way(estimate)}"


def either_way(estimate: Estimate) -> str:
    """A mean without its sign, and its standard error."""
    return f"{short(abs(estimate.mean))} ± {short(estimate.error)}"


def short(value: float) -> str:
    """Three digits, as shares are written."""
    return f"{value:.3f}".removeprefix("0") if value < 0.9995 else f"{value:.2f}"


def _as_table(rows: Rows) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    columns = lines[0].count("|") - 1
    return "\n".join([lines[0], f"|{'---|' * columns}", *lines[1:]]) + "\n"


def rendered(text: str, blocks: Mapping[str, str]) -> str:
    """A document with these blocks. Raises KeyError for a block that the report does not have."""
    return _BLOCK.sub(lambda found: found[1] + blocks[found[2]] + found[3], text)


def documents() -> list[Path]:
    """Those that have a block."""
    return [each for each in sorted(DOCS.glob("*.md")) if _BLOCK.search(each.read_text("utf-8"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--ratings", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--people", type=int, default=1000, help="of each crowd of a country")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    parts = options.only or PARTS
    found: Report = {}
    with threadpool_limits(1):
        if "utility" in parts:
            tables = {SIMULATED: simulated_table()}
            for given in options.ratings:
                name, _, path = given.partition("=")
                tables[name], _ = read_ratings(Path(path))
            found["utility"] = {
                name: utility_of(table, options.seeds) for name, table in tables.items()
            }
        if "places" in parts:
            rules = ("nearest", "codebook", "items", SERVED)
            found["places"] = places_of(
                PlacesProtocol(
                    items=(100_000,),
                    levels=("town",),
                    axis_levels=(),
                    ks=(5, 20, 64),
                    beside_ks=(5, 20, 64),
                    rules=rules,
                    people=options.people,
                    draws=2,
                )
            )
        if "private" in parts and options.ratings:
            path = options.ratings[0].partition("=")[2]
            found["private"] = private_of(read_ratings(Path(path))[0], 1500)
        if "wants" in parts:
            found["wants"] = wants_of(options.people, 100_000, (20, 64))
    report: Report = json.loads(REPORT.read_text("utf-8")) if REPORT.exists() else {}
    logs = report.get("utility", {}) | found.get("utility", {})
    report |= found | ({"utility": logs} if logs else {})
    REPORT.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for path in documents():
        text = rendered(path.read_text("utf-8"), blocks_of(report))
        path.write_text(text, encoding="utf-8")
    reference.written()


if __name__ == "__main__":
    main()

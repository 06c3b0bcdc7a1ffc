"""What `make audit` writes of its run: build/audit-report.html, and the same as JSON.

    python -m guarantees.audit.report tests                  the tests that an audit runs
    python -m guarantees.audit.report write build/audit.xml  the report of a run of them

A night's run is kept in build/nightly.xml; the report quotes it with the commit that it was of.
"""

from __future__ import annotations

import json
import platform
import sys
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from benchmarks.claims import claims, deployments
from benchmarks.mutants import LAST
from benchmarks.results import commit
from guarantees.audit.black_box import FALSE_ALARM, auditors

ROOT: Final = Path(__file__).parents[3]
BUILD: Final = ROOT / "build"
OF_ALL: Final = "tests/guarantees/test_every_claim_has_its_tests.py"  # and of all false alarms
PACKAGES: Final = ("numpy", "scipy", "grpcio", "hypothesis", "pytest")
STYLE: Final = """body{font:15px/1.5 system-ui;max-width:70em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #ccc;padding:.2em .6em;
text-align:left;vertical-align:top}.failed{color:#b00}svg{width:100%;max-width:44em}"""
LOSSES: Final = (
    "Exact: the loss of all small inputs that is nearest to its claim. Measured: what draws of the "
    "production object prove, but for a false alarm. Losses are in the unit of the claim: epsilon, "
    "delta, rho, or the distance of a point."
)

Found = dict[str, Any]


def evidence() -> list[str]:
    """The files and folders that an audit runs."""
    return [*dict.fromkeys(test for each in claims() for test in each.tests), OF_ALL]


def results(path: Path) -> list[Found]:
    """Every test of a run, with what it recorded."""
    found = []
    for case in ElementTree.parse(path).iter("testcase"):  # pytest wrote it
        failed = case.find("failure") is not None or case.find("error") is not None
        skipped = case.find("skipped") is not None
        file = case.get("file") or f"{case.get('classname', '').replace('.', '/')}.py"
        recorded = {each.get("name", ""): each.get("value", "") for each in case.iter("property")}
        found.append(
            {
                "test": f"{file}::{case.get('name')}",
                "outcome": "failed" if failed else "skipped" if skipped else "passed",
                "seconds": float(case.get("time", 0)),
                **recorded,
            }
        )
    return found


def report_of(run: list[Found], nightly: list[Found]) -> Found:
    """All that the page shows."""
    backed = []
    for each in claims():
        mine = [one for one in run if any(one["test"].startswith(test) for test in each.tests)]
        counts = {
            outcome: sum(one["outcome"] == outcome for one in mine)
            for outcome in ("passed", "failed", "skipped")
        }
        backed.append({**each._asdict(), **counts})
    return {
        "commit": commit(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "seconds_of_tests": round(sum(one["seconds"] for one in run)),
        "false_alarm_of_a_look": FALSE_ALARM,
        "false_alarms_of_a_lifetime": next(
            (one["false_alarms"] for one in run if "false_alarms" in one), None
        ),
        "seeds": sorted({f"{_file(one)}: {one['seed']}" for one in run if "seed" in one}),
        "claims": backed,
        "auditors": [each._asdict() for each in auditors()],
        "mechanisms": by_mechanism(run),
        "looks": [one for one in run if "claimed" in one or "power" in one],
        "failed": [one["test"] for one in run if one["outcome"] == "failed"],
        "deployments": deployments(),
        "nightly": {
            "commit": _text(BUILD / "nightly.commit"),
            "passed": sum(one["outcome"] == "passed" for one in nightly),
            "failed": [one["test"] for one in nightly if one["outcome"] == "failed"],
        },
        "mutants": _text(LAST),
    }


def by_mechanism(run: list[Found]) -> list[Found]:
    """Of each: the exact loss that is nearest to its claim, the highest lower bound that draws
    prove, the least power of those looks, and how many looks there were and failed.
    """
    found: dict[str, Found] = {}
    for one in run:
        if "mechanism" not in one:
            continue
        row = found.setdefault(one["mechanism"], {"mechanism": one["mechanism"], "looks": 0})
        row["looks"] += 1
        row["failed"] = row.get("failed", 0) + (one["outcome"] == "failed")
        for kind in ("exact", "measured"):
            share = _share(one, kind)
            if share is not None and share > row.get(f"share_{kind}", -1.0):
                row |= {f"claimed_{kind}": one["claimed"], kind: one[kind], f"share_{kind}": share}
        for kind in ("power", "p_value"):
            least = [_number(each) for each in (row.get(kind), one.get(kind))]
            row |= {kind: min(each for each in least if each is not None)} if any(least) else {}
    return [found[name] for name in sorted(found)]


def _share(one: Found, kind: str) -> float | None:
    """What was found, as a share of what is claimed; where nothing is claimed, nothing or more."""
    value, claimed = _number(one.get(kind)), _number(one.get("claimed"))
    if value is None or claimed is None:
        return None
    return value / claimed if claimed else float(value > 0) * 2


def _file(one: Found) -> str:
    return str(one["test"]).partition("::")[0]


def _text(path: Path) -> str:
    """A last result of another run, or that there was none."""
    return path.read_text("utf-8").strip() if path.exists() else "not run here"


def page(report: Found) -> str:
    """The report for people."""
    nightly = report["nightly"]
    chances = f"{report['false_alarm_of_a_look']} a look"
    lifetime = f"{chances}; in 10,000 runs of all tests {report['false_alarms_of_a_lifetime']}"
    night = f"{nightly['passed']} passed, {len(nightly['failed'])} failed"
    facts: list[list[object]] = [
        ["Commit", report["commit"]],
        ["Versions", f"Python {report['python']}, {_pairs(report['versions'])}"],
        ["False alarms", lifetime],
        ["Seeds of simulations", "; ".join(report["seeds"]) + "; all else is the kernel's"],
        ["Failed", ", ".join(report["failed"]) or "nothing"],
        ["Last night", f"{nightly['commit']}: {night}"],
        ["Mutants", report["mutants"]],
    ]
    rows = report["mechanisms"]
    keys = ("id", "says", "unit", "neighbors", "trusted", "not_claimed")
    kept = ("passed", "failed", "skipped")
    backed = [[each[key] for key in (*keys, *kept)] for each in report["claims"]]
    losses = ("claimed_exact", "exact", "claimed_measured", "measured", "power", "p_value")
    of_all = ("mechanism", *losses, "looks", "failed")
    measured = ("claimed", "exact", "measured", "p_value", "power", "seed", "outcome")
    return "\n".join(
        [
            f"<!doctype html><meta charset=utf-8><title>Audit</title><style>{STYLE}</style>",
            "<h1>Audit</h1>",
            _table([], facts),
            "<h2>Claims</h2>",
            _table([*keys, *kept], backed),
            "<h2>Mechanisms</h2>",
            f"<p>{LOSSES}</p>",
            _table([*of_all], [[_short(each.get(k, "")) for k in of_all] for each in rows]),
            "<h2>Exact and measured loss, as a share of the claim</h2>",
            _bars(rows),
            "<h2>Auditors</h2>",
            _table(
                ["auditor", "false alarms", "guilty", "power at least"],
                [[_short(each) for each in one.values()] for one in report["auditors"]],
            ),
            "<h2>Looks</h2>",
            _table(
                ["test", *measured],
                [
                    [each["test"].partition("::")[2], *(_short(each.get(k, "")) for k in measured)]
                    for each in report["looks"]
                ],
            ),
            "<h2>Deployments</h2>",
            *(
                f"<h3>{name}</h3>{_table([], [[*each] for each in record.items()])}"
                for name, record in report["deployments"].items()
            ),
        ]
    )


def _pairs(values: Found) -> str:
    return ", ".join(f"{name} {each}" for name, each in values.items())


def _short(value: object) -> str:
    """A number in four digits."""
    number = _number(value)
    if number is None:
        return str(value)
    # No power is 1: only what cannot be told from it in four digits, and is told to be less.
    return "> 0.9999" if 0.9999 < number < 1 else f"{number:.4g}"


def _table(head: list[str], rows: list[list[object]]) -> str:
    cells = [f"<tr>{''.join(f'<td>{escape(str(each))}</td>' for each in row)}</tr>" for row in rows]
    heads = "".join(f"<th>{escape(each)}</th>" for each in head)
    return f"<table><tr>{heads}</tr>{''.join(cells)}</table>"


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None


def _bars(mechanisms: list[Found]) -> str:
    """Two bars a mechanism, from 0: the exact loss, and below it what draws prove. The claim is the
    line at 1; what is beyond it is red.
    """
    drawn, height = [], 30 * len(mechanisms) + 24
    for at, each in enumerate(mechanisms):
        name = escape(each["mechanism"])
        drawn.append(f"<text x=195 y={30 * at + 18} text-anchor=end font-size=12>{name}</text>")
        for down, kind, color in ((4, "exact", "#468"), (15, "measured", "#9bd")):
            share = each.get(f"share_{kind}")
            if share is not None:
                fill = "#b00" if share > 1.000001 else color
                width = max(0.0, min(share, 1.3)) * 400
                y = 30 * at + down
                drawn.append(f'<rect x=200 y={y} width={width:.1f} height=10 fill="{fill}"/>')
                drawn.append(f"<text x={205 + width:.0f} y={y + 9} font-size=9>{share:.3f}</text>")
    line = f'<line x1=600 x2=600 y1=0 y2={height - 20} stroke="#000" stroke-dasharray=4 />'
    words = (
        f"<text x=200 y={height - 4} font-size=11>0</text>"
        f"<text x=575 y={height - 4} font-size=11>the claim</text>"
        f'<text x=280 y={height - 4} font-size=11 fill="#468">exact</text>'
        f'<text x=330 y={height - 4} font-size=11 fill="#69a">measured</text>'
    )
    return f'<svg viewBox="0 0 800 {height}">{"".join(drawn)}{line}{words}</svg>'


def main() -> None:
    if sys.argv[1:] == ["tests"]:
        sys.stdout.write(" ".join(evidence()) + "\n")
        return
    night = BUILD / "nightly.xml"
    report = report_of(results(Path(sys.argv[2])), results(night) if night.exists() else [])
    (BUILD / "audit-report.json").write_text(json.dumps(report, indent=1, ensure_ascii=False))
    (BUILD / "audit-report.html").write_text(page(report), encoding="utf-8")
    sys.stdout.write(f"build/audit-report.html: {len(report['failed'])} of the tests failed\n")


if __name__ == "__main__":
    main()

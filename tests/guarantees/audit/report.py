"""What `make audit` writes of its run, build/audit-report.json, and what it prints of it.

    python -m guarantees.audit.report tests                  the tests that an audit runs
    python -m guarantees.audit.report write build/audit.xml  the report of a run of them

A night's run is kept in build/nightly.xml; the report quotes it with the commit that it was of.
"""

from __future__ import annotations

import json
import platform
import sys
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
    """Return what backs every claim, what every mechanism lost, and what failed.

    Exact: the loss of all small inputs that is nearest to its claim. Measured: what draws of the
    production object prove, but for a false alarm. Losses are in the unit of the claim: epsilon,
    delta, rho, or the distance of a point.
    """
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


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None


def main() -> None:
    if sys.argv[1:] == ["tests"]:
        sys.stdout.write(" ".join(evidence()) + "\n")
        return
    night = BUILD / "nightly.xml"
    report = report_of(results(Path(sys.argv[2])), results(night) if night.exists() else [])
    (BUILD / "audit-report.json").write_text(json.dumps(report, indent=1, ensure_ascii=False))
    for row in report["mechanisms"]:
        shares = (f"{kind} {row.get(f'share_{kind}', '-')}" for kind in ("exact", "measured"))
        sys.stdout.write(f"{row['mechanism']}: {', '.join(shares)} of the claim\n")
    failed = len(report["failed"])
    sys.stdout.write(f"{failed} of the tests failed; the rest is in build/audit-report.json\n")


if __name__ == "__main__":
    main()

"""Reproduces the main figures of four papers, into docs/papers.

    python -m benchmarks.papers                              made-up counts in the papers' shapes
    python -m benchmarks.papers --counts FOLDER              and each NAME.npy of a folder
    python -m benchmarks.papers --ratings FILE               and the ratings of each film there
    python -m benchmarks.papers --only pay_what_you_get      one paper
    python -m benchmarks.papers --only render                pages and pictures, from results.json

Real counts are only read; tables and curves of them are written. Pictures need the extra `plots`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from benchmarks.papers.frame import Counts, Data, blocks_of, panels_of, read_counts
from benchmarks.report import rendered
from threadpoolctl import threadpool_limits

from askew_server.ratings import read_ratings

OUT: Final = Path("docs/papers")
RESULTS: Final = OUT / "results.json"
APART: Final = Path("build/papers")
PAPERS: Final = ("canonical", "joint", "multiple_selections", "pay_what_you_get")


def page_of(name: str) -> Path:
    return OUT / f"{name.replace('_', '-')}.md"


def measured(name: str, data: Data) -> dict[str, Any]:
    """Reproduce one paper, and name the commit."""
    found: dict[str, Any] = import_module(f"benchmarks.papers.{name}").measure(data).as_json()
    found["commit"] = _commit()
    return found


def ratings_of(path: Path) -> dict[str, Counts]:
    table, _ = read_ratings(path)
    return {"movielens": np.bincount(table.item, minlength=len(table.item_keys)).astype(np.int64)}


def _commit() -> str:
    def git(*words: str) -> str:
        asked = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
        return asked.stdout.strip()

    changed = git("status", "--porcelain", "--", "benchmarks", "shared", "server")
    return git("rev-parse", "--short=12", "HEAD") + (", changed since" if changed else "")


def kept() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    return found


def keep(name: str, found: dict[str, Any]) -> None:
    """Put one paper beside the others; a run with fewer data takes no row from a page, and one
    whose figures are those of the page leaves its commit, too.
    """
    before = kept().get(name, {})
    if before == found | {"commit": before.get("commit")}:
        print(f"{name}: the page stays, as no figure changed")
        return
    missing = set(before.get("data", ())) - set(found["data"])
    if missing:
        APART.mkdir(parents=True, exist_ok=True)
        path = APART / f"{name}.json"
        path.write_text(json.dumps(found, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
        print(
            f"{name}: the page stays, as it has data that this run has not: "
            f"{', '.join(sorted(missing))}. This run is in {path}."
        )
        return
    text = json.dumps({**kept(), name: found}, sort_keys=True, ensure_ascii=False)
    RESULTS.write_text(text + "\n", "utf-8")


def render(name: str, found: dict[str, Any]) -> None:
    """Writes the pictures of a paper and the blocks of its page."""
    from benchmarks.figures import draw_panels

    for picture, panels in panels_of(found).items():
        draw_panels(OUT / f"{picture}.svg", panels)
    page = page_of(name)
    page.write_text(rendered(page.read_text("utf-8"), blocks_of(found)), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers")
    parser.add_argument("--counts", type=Path, help="a folder of count vectors, NAME.npy")
    parser.add_argument("--ratings", type=Path, help="ratings of films, as MovieLens has them")
    parser.add_argument("--only", choices=[*PAPERS, "render"], help="one part")
    asked = parser.parse_args()
    counts = read_counts(asked.counts) if asked.counts else {}
    data = Data(counts | (ratings_of(asked.ratings) if asked.ratings else {}))
    with threadpool_limits(1):
        for name in PAPERS if asked.only is None else {asked.only} - {"render"}:
            began = time.monotonic()
            keep(name, measured(name, data))
            print(f"{name:20} {time.monotonic() - began:4.0f} s", flush=True)
    for name, found in kept().items():
        render(name, found)


if __name__ == "__main__":
    main()

"""Pages that nobody writes by hand are what the code says today; the site has every page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from benchmarks.reference import FOLDER, MARK, demo_page, pages

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
HAND_WRITTEN = {"api.md", "benchmarks.md"}  # which docstrings to show; what `make bench` wrote


WRITTEN = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}


@pytest.fixture(scope="module")
def generated() -> Mapping[str, str]:
    return pages()


@pytest.mark.parametrize("name", sorted(WRITTEN.keys() - {"demo.md", *HAND_WRITTEN}))
def test_a_page_of_the_reference_is_what_the_code_says(
    generated: Mapping[str, str], name: str
) -> None:
    """Planted bugs: a default, a metric or an error that changed, and no page written anew; a page
    changed by hand. `make report ARGS="--only render"` writes them.
    """
    assert WRITTEN[name] == generated[name]


def test_all_pages_of_the_reference_say_that_they_are_generated(
    generated: Mapping[str, str],
) -> None:
    assert WRITTEN.keys() == {*generated, "demo.md", *HAND_WRITTEN}
    assert {name for name, text in WRITTEN.items() if not text.startswith(MARK)} == HAND_WRITTEN


def test_the_transcript_of_a_page_is_whole() -> None:
    assert demo_page("\n a  \n\nb\n").endswith("```text\n a\n\nb\n```\n")


def test_the_site_has_every_page_once() -> None:
    """Planted bug: a page that is renamed, or written, and not listed in docs/index.md."""
    index = (DOCS / "index.md").read_text("utf-8")
    listed = [
        path
        for name in re.findall(r"^([\w/*-]+)$", index, re.MULTILINE)
        for path in [*DOCS.glob(f"{name}.md"), *DOCS.glob(f"{name}.ipynb")] or [DOCS / name]
    ]
    assert sorted(listed) == sorted(
        path for kind in ("md", "ipynb") for path in DOCS.rglob(f"*.{kind}") if path.stem != "index"
    )


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda path: path.name)
def test_a_page_has_one_title(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    begun = {"index.md", "benchmarks.md"}  # by files elsewhere, which have the title
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == (page.name not in begun)

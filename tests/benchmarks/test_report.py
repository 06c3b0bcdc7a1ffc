"""The figures of the documents are those of the report, and every block is written from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks import report

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("docs/utility.md", "docs/places.md", "docs/guarantees.md")
FOUND = json.loads((ROOT / "docs/report.json").read_text("utf-8"))
MEASURED = (*FOUND["utility"].values(), FOUND["places"], FOUND["wants"], FOUND["private"])


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_says_what_the_report_found(document: str) -> None:
    """Planted bug: a figure changed by hand, or a report of which no document was written."""
    text = (ROOT / document).read_text("utf-8")
    assert text.count("<!-- report: ") >= 2
    assert report.rendered(text, report.blocks_of(FOUND)) == text


def test_every_part_says_how_many_people_and_which_seeds() -> None:
    for part in MEASURED:
        assert part["people"] > 0
        assert part.get("seeds", [part.get("seed")])[0] is not None


def test_every_figure_has_its_error() -> None:
    for part in MEASURED:
        for cell in part["cells"]:
            pairs = [each for each in cell.values() if isinstance(each, list)]
            assert pairs
            assert all(len(each) == 2 and each[1] >= 0 for each in pairs)


def test_places_stand_beside_the_nearest_and_the_plain_codebook() -> None:
    for name in ("places-rules", "places-wants"):
        head = report.blocks_of(FOUND)[name].splitlines()[0]
        assert "`nearest`" in head
        assert "`codebook`" in head


def test_a_block_that_the_report_does_not_have_is_refused() -> None:
    with pytest.raises(KeyError):
        report.rendered("<!-- report: wrong -->\n<!-- end of report -->", {})

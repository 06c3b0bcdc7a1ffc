"""CITATION.cff has what readers of it need, and names the papers that have a page."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CITATION.cff").read_text("utf-8")


def value_of(key: str) -> str:
    """Of a line that is not indented."""
    [found] = re.findall(rf"^{key}: (.+)$", TEXT, re.MULTILINE)
    return str(found)


def test_the_required_fields_are_there_and_the_version_is_the_packages() -> None:
    """cff-version, message, title and authors are required (Citation File Format 1.2.0)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert value_of("cff-version") == "1.2.0"
    assert value_of("message")
    assert value_of("title") == "Askew"
    assert re.search(r"^authors:\n  - name: .+$", TEXT, re.MULTILINE)
    assert value_of("version") == project["version"]
    assert value_of("license") == project["license"]


def test_each_reference_has_its_type_title_authors_and_a_link() -> None:
    references = TEXT.split("\n  - type: ")[1:]
    assert len(references) == 5
    for each in references:
        assert re.match(r"(article|conference-paper)\n", each)
        assert re.search(r"^    title: .+$", each, re.MULTILINE)
        assert re.search(r"^    authors:\n      - \{family-names: .+\}$", each, re.MULTILINE)
        assert re.search(r"^    url: https://.+$", each, re.MULTILINE)


def test_every_paper_with_a_page_is_cited() -> None:
    for page in (ROOT / "docs/papers").glob("*.md"):
        [identifier] = set(re.findall(r"arxiv\.org/abs/([\d.]+\d)", page.read_text("utf-8")))
        assert identifier in TEXT

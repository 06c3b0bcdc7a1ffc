"""The changelog has a form, and what hosts and editors run is what developers run."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
HEADING = re.compile(r"## \[(?P<version>[^\]]+)\](?: - (?P<day>\S+))?")


def faults(changelog: str) -> list[str]:
    """What a reader of it could not rely on."""
    _, *parts = re.split(r"^(?=## )", changelog, flags=re.MULTILINE)
    found = [] if parts else ["no version"]
    for part in parts:
        heading = HEADING.fullmatch(part.splitlines()[0])
        if heading is None:
            found.append(f"not a version: {part.splitlines()[0]}")
            continue
        if heading["version"] != "Unreleased":
            try:
                date.fromisoformat(heading["day"] or "")
            except ValueError:
                found.append(f"no day: {heading['version']}")
        if not re.search(r"^### Privacy\n\n- ", part, flags=re.MULTILINE):
            found.append(f"nothing about privacy: {heading['version']}")
    return found


def test_each_version_has_a_day_and_says_what_changed_for_privacy() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert faults(text) == []
    released = text.replace("## [Unreleased]", "## [0.1.0]")
    assert faults(released) == ["no day: 0.1.0"]
    assert faults(text.replace("### Privacy", "### Other")) == ["nothing about privacy: Unreleased"]


def test_the_version_of_the_package_is_in_the_changelog_or_unreleased() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert {"Unreleased", project["version"]} & set(re.findall(r"## \[([^\]]+)\]", text))


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_hosted_ci_is_the_script_that_everybody_runs() -> None:
    [job] = read(".github/workflows/ci.yml")["jobs"].values()
    assert job["steps"][-1] == {"run": "bash .ci/run"}
    assert read(".github/workflows/ci.yml")["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("hook", ["ruff check", "ruff format", "mypy", "lint-imports"])
def test_what_runs_before_a_commit_is_what_make_check_runs(hook: str) -> None:
    [own] = read(".pre-commit-config.yaml")["repos"]
    entries = [each["entry"] for each in own["hooks"]]
    assert any(entry.startswith(f".venv/bin/{hook}") for entry in entries)
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ncheck:")[2]
    assert f"$(BIN)/{hook}" in recipe.partition("\n\n")[0]

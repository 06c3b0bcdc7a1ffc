"""No claim without a test, no test of a promise without a claim, and no alarm that is false."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from benchmarks.claims import Claim, claims, deployments
from guarantees.audit.black_box import FALSE_ALARM
from guarantees.audit.report import OF_ALL, evidence, report_of, results

ROOT = Path(__file__).parents[2]
CLAIMS = claims()
PROMISES = ROOT / "tests/guarantees"

# Tests that draw from the kernel and can be wrong by chance: how many looks, and how often each is.
# A planted fault that must be seen counts as a look, too; it is missed more rarely.
LOOKS = {
    "tests/guarantees/test_draws_from_the_kernel.py": (26, FALSE_ALARM),
    "tests/guarantees/test_lattice_keeps_its_promise.py": (4, 1e-9),
    "tests/guarantees/test_the_discrete_gaussian_has_its_law.py": (5, 1e-9),
    "tests/guarantees/test_covariance_keeps_its_promise.py": (18, 1e-9),
    "tests/core/test_noise.py": (1, 2e-9),
    "tests/end_to_end/test_the_wire_keeps_its_epsilon.py": (6, FALSE_ALARM),
    "tests/end_to_end/test_packets.py": (3, 1e-9),
    "tests/end_to_end/test_demo.py": (2, 1e-9),
}
RUNS = 10_000


def backs(claim: Claim) -> list[str]:
    """The tests of a claim that are not there."""
    missing = []
    for test in claim.tests:
        path, _, name = test.partition("::")
        place = ROOT / path
        files = sorted(place.glob("**/test_*.py")) if place.is_dir() else [place]
        names = {test for file in files if file.exists() for test in functions(file)}
        if not (name in names if name else names):
            missing.append(test)
    return missing


def functions(file: Path) -> set[str]:
    """The names of a file's tests."""
    nodes = ast.walk(ast.parse(file.read_text("utf-8")))
    tests = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {test.name for test in tests if test.name.startswith("test_")}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_claim_has_tests_and_says_what_it_does_not_claim(claim: Claim) -> None:
    assert claim.tests
    assert backs(claim) == []
    assert claim.not_claimed


def test_every_test_of_a_promise_backs_a_claim() -> None:
    """Planted bugs: a claim whose test was moved away; a test that no claim names."""
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    named = {test.partition("::")[0] for claim in CLAIMS for test in claim.tests}
    there = {str(path.relative_to(ROOT)) for path in PROMISES.glob("test_*.py")}
    assert there - named == {OF_ALL}


def test_a_claim_without_its_test_is_seen() -> None:
    claim = CLAIMS[0]._replace(tests=("tests/guarantees/test_nothing.py",))
    assert backs(claim) == ["tests/guarantees/test_nothing.py"]
    name = "tests/guarantees/test_the_auditor.py::test_nothing"
    assert backs(claim._replace(tests=(name,))) == [name]


def test_a_lifetime_of_ten_thousand_runs_has_no_false_alarm(
    record_property: Callable[[str, object], None],
) -> None:
    """The sum over all looks of all runs: no two need be independent."""
    lifetime = RUNS * sum(looks * chance for looks, chance in LOOKS.values())
    record_property("false_alarms", lifetime)  # the report says so
    assert lifetime < 1e-3


def test_every_file_whose_tests_can_be_wrong_by_chance_is_counted() -> None:
    """Those that name a rate of false alarms and draw from the kernel, and those that audit."""
    seeded, found = "tests/guarantees/test_the_auditor.py", set()
    for file in sorted((ROOT / "tests").glob("**/test_*.py")):
        text = file.read_text("utf-8")
        draws = "SystemBits" in text or "urandom" in text
        stated = any(word in text for word in ("FALSE_ALARM", "ALPHA =", "false alarm in 10**9"))
        audits = any(word in text for word in ("audit_pure", "judged(rule", "stops_after"))
        if (draws and stated) or audits:
            found.add(str(file.relative_to(ROOT)))
    assert found - {OF_ALL, seeded} <= LOOKS.keys()
    assert [file for file in LOOKS if not (ROOT / file).exists()] == []


PAGES = sorted((ROOT / "docs/proofs").glob("*.md"))
STEPS = "## Where the code does it, and what checks it"
HEAD = "| Step of the proof | Code | Test |"
TREES = ("shared", "client", "server")
PROVED = {"budget", "canonical", "covariance", "hexagon", "joint", "lattice"}
PROVED |= {"limited-domains", "mark", "one-rating"}


def astray(text: str) -> list[str]:
    """What a page of a proof names that is not there, and steps that name no code or no test.

    Code: of the modules that the page names. Tests: of the files that it names.
    """
    named = re.findall(r"`([^`\n]+)`", text)
    modules = [each for each in named if re.fullmatch(r"askew\w*(\.[a-z]\w*)+", each)]
    files = [ROOT / each for each in named if re.fullmatch(r"tests/[\w/]+\.py", each)]
    wrong = [each for each in modules if source_of(each) is None]
    wrong += [str(each) for each in files if not each.is_file()]
    tests = {each for file in files if file.is_file() for each in functions(file)}
    for step, code, checks in rows_of(text.partition(STEPS)[2]):
        found, backed = re.findall("`([^`]+)`", code), re.findall("`([^`]+)`", checks)
        wrong += [step] if not found or not backed else []
        wrong += [each for each in found if not any(holds(module, each) for module in modules)]
        wrong += [each for each in backed if each not in tests]
    return wrong + [each for each in named if each.startswith("test_") and each not in tests]


def rows_of(text: str) -> Iterator[list[str]]:
    """The rows of the table of steps; none where there is no such table."""
    _, _, rest = text.partition(HEAD)
    for line in rest.strip().splitlines()[1:]:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split("|")]


def holds(module: str, name: str) -> bool:
    """Whether a module makes this function, class, constant, or member of a class."""
    source = source_of(module)
    owner, _, member = name.partition(".")
    for each in ast.parse(source.read_text("utf-8")).body if source else []:
        if owner in bound(each):
            inside = each.body if isinstance(each, ast.ClassDef) else []
            return not member or any(member in bound(one) for one in inside)
    return False


def source_of(module: str) -> Path | None:
    """The file of a module."""
    path = Path(*module.split(".")).with_suffix(".py")
    return next((ROOT / tree / path for tree in TREES if (ROOT / tree / path).is_file()), None)


def bound(node: ast.stmt) -> set[str]:
    """The names that a statement gives."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {each.id for each in targets if isinstance(each, ast.Name)}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_proof_names_code_and_tests_that_exist(path: Path) -> None:
    text = path.read_text("utf-8")
    assert astray(text) == []
    assert len([*rows_of(text.partition(STEPS)[2])]) >= 4
    assert "## What is claimed" in text
    assert "∎" in text


def test_there_is_a_page_for_every_proof() -> None:
    """And the assumption about floats that exact draws make is on the page of one that draws."""
    assert {each.stem for each in PAGES} == PROVED
    assert {page for claim in CLAIMS for page in claim.proofs} == PROVED
    canonical = (ROOT / "docs/proofs/canonical.md").read_text("utf-8")
    assert "`test_exp_is_within_the_error_that_exact_draws_assume`" in canonical


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("`LatticeLaplace._round`", "`LatticeLaplace.rounds`"),
        ("`clamped`", "`clipped`"),
        ("`askew.noise.lattice`", "`askew.noise.grid`"),
        ("tests/core/test_noise.py", "tests/core/test_noises.py"),
        ("`test_coins_add_up`", "`test_coins_add`"),
        ("| `clamped` |", "| the end |"),
    ],
)
def test_a_name_that_a_proof_has_wrong_is_seen(name: str, other: str) -> None:
    """Planted in the page of the lattice: a member, a function, a module, a file, a test, none."""
    text = (ROOT / "docs/proofs/lattice.md").read_text("utf-8")
    assert text.count(name) >= 1
    assert astray(text.replace(name, other)) != []


def test_deployments_say_the_same_things_of_every_model_of_trust() -> None:
    """And the numbers are those that the code ships. Planted bug: an epsilon written by hand."""
    found = deployments()
    assert [*found] == ["local", "place", "central"]
    assert len({tuple(each) for each in found.values()}) == 1
    assert found["local"]["ε of one signal"].startswith("0.8 a rating; 1.6 a replaced title; 16")


def test_an_audit_runs_everything_that_is_marked_for_it() -> None:
    """Planted bug: the sum of all false alarms is not among it, so a report has none."""
    named = evidence()
    assert Path(__file__).relative_to(ROOT).as_posix() in named
    for file in sorted((ROOT / "tests").glob("**/test_*.py")):
        if "pytest.mark.audit" in file.read_text("utf-8").replace('"pytest.mark.audit"', ""):
            path = str(file.relative_to(ROOT))
            assert any(path.startswith(each) for each in named), path


def test_a_report_shows_what_failed_and_what_a_mechanism_lost(tmp_path: Path) -> None:
    """Planted bugs: a failure that counts as passed; a share of what is not claimed."""
    file = "tests/guarantees/test_lattice_keeps_its_promise.py"
    (tmp_path / "run.xml").write_text(
        f"""<testsuites><testsuite>
        <testcase file="{file}" name="test_one" time="1"><properties>
        <property name="mechanism" value="LatticeLaplace"/><property name="seed" value="17"/>
        <property name="claimed" value="2"/><property name="exact" value="2.5"/></properties>
        <failure message="no"/></testcase>
        <testcase file="{file}" name="test_three" time="1"><properties>
        <property name="mechanism" value="LatticeLaplace"/><property name="power" value="0.97"/>
        <property name="claimed" value="2"/><property name="exact" value="1.5"/>
        <property name="measured" value="1.8"/></properties></testcase>
        <testcase file="{file}" name="test_two" time="2"/></testsuite></testsuites>"""
    )
    report = report_of(results(tmp_path / "run.xml"), [])
    assert report["failed"] == [f"{file}::test_one"]
    assert (report["claims"][0]["passed"], report["claims"][0]["failed"]) == (2, 1)
    [row] = report["mechanisms"]
    assert (row["exact"], row["measured"], row["power"]) == ("2.5", "1.8", 0.97)
    assert (row["share_exact"], row["looks"], row["failed"]) == (1.25, 2, 1)
    assert report["seeds"] == [f"{file}: 17"]
    assert [each["power"] > 0.999 for each in report["auditors"]] == [True] * 4

"""What the documents tell people to type exists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from askew_client.cli.main import cli as askew
from askew_server.cli.main import cli as askew_server

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAMS: dict[str, click.Group] = {"askew": askew, "askew-server": askew_server}


def typed(text: str) -> Iterator[str]:
    """The lines of fenced blocks that a person is to type, one command each, joined if broken."""
    for block in re.findall(r"^```[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            command = re.sub(r"^\s*\$ ", "", line).strip()
            if re.match(r"(askew|askew-server|make)( |$)", command):
                yield command


def first_program(command: str) -> list[str]:
    """The words of the first program of a line: no comment, pipe, redirection or second command."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    ends = (at for at, word in enumerate(words) if set(word) <= set("|&;<>()"))
    return words[: next(ends, len(words))]


def complaint(command: str) -> str | None:
    """What is wrong with a command, or None."""
    program, *arguments = first_program(command)
    if program == "make":
        targets = [each for each in arguments if "=" not in each and not each.startswith("-")]
        unknown = set(targets) - make_targets()
        return f"no such target: {unknown}" if unknown else None
    current: click.Command = PROGRAMS[program]
    while isinstance(current, click.Group) and arguments and not arguments[0].startswith("-"):
        found = current.get_command(click.Context(current), arguments.pop(0))
        if found is None:
            return "no such command"
        current = found
    known = {flag for each in current.params for flag in (*each.opts, *each.secondary_opts)}
    known |= {"-h", "--help"}
    used = {each.partition("=")[0] for each in arguments if re.match(r"--?[a-z]", each)}
    return f"no such option: {used - known}" if used - known else None


def make_targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z][a-z-]*):(?!=)", makefile, re.MULTILINE))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_in_a_document_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    wrong = {command: complaint(command) for command in typed(text) if complaint(command)}
    assert wrong == {}


README = (ROOT / "README.md").read_text(encoding="utf-8")


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_the_readme_is_read_in_minutes() -> None:
    assert len(README.split()) <= 600


def test_the_first_ten_lines_of_the_readme_say_what_it_is_and_promise_no_more_than_holds() -> None:
    """A noisy hint is learned. No word of ours stands there before it is explained."""
    opening = " ".join(README.splitlines()[:10])
    assert "learns only a noisy hint" in opening
    assert "not learn what you like" not in README
    ours = re.compile(r"\b(signal|slate|placement|offset|probe|codebook|local|cached|query)s?\b")
    assert ours.findall(opening) == []


def test_the_readme_says_for_whom_it_is_and_is_not_before_anything_is_to_be_typed() -> None:
    """Each reader has a page to start with; whoever needs none of them, a page that says why."""
    first = README[: README.index("```")]
    for reader in ("developers of apps", "operators", "analysts", "researchers"):
        link = re.search(rf"\[{reader}\]\((docs/start/\w+\.md)\)", first)
        assert link, reader
        assert (ROOT / link[1]).exists()
    assert "**Not for you**" in first
    assert "(docs/when.md)" in first


def test_the_page_of_when_has_a_column_for_all_that_decides() -> None:
    head = next(line for line in page("when.md").splitlines() if line.startswith("| Catalog"))
    assert cells(head)[:4] == ["Catalog", "Churn", "Payload", "May devices hold the model?"]
    assert "## Not for you" in page("when.md")


@pytest.mark.parametrize(
    ("work", "authors"),
    [
        ("Adnostic", ["Toubiana", "2010"]),
        ("Privad", ["Guha", "Cheng", "Francis", "2011"]),
        ("Uni-FedRec", ["Qi", "2021"]),
        ("Firefox's New Tab", ["Mozilla"]),
        ("Wally", ["Asi", "Apple", "2024"]),
        ("geo-indistinguishability", ["Andrés", "2013"]),
        ("remapping", ["Chatzikokolakis", "ElSalamouny", "Palamidessi", "2017"]),
    ],
)
def test_prior_work_is_named_with_its_authors(work: str, authors: list[str]) -> None:
    named = " ".join(page("prior-work.md").split()).partition(work)[2][:90]
    assert [name for name in authors if name not in named] == []


PAPERS = {
    "2407.14641": "Goel",  # Differential Privacy Under Multiple Selections
    "2504.07403": "Sarmasarkar",  # Multi-Selection for Recommendation Systems
}
CITING = [
    *DOCUMENTS,
    *(path for tree in ("shared", "client", "server") for path in (ROOT / tree).rglob("*.py")),
]


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_is_cited_by_its_own_authors(paper: str) -> None:
    """The two have the same five, in another order."""
    texts = {path: " ".join(path.read_text(encoding="utf-8").split()) for path in CITING}
    cited = [
        (path.name, text[max(0, at.start() - 290) : at.start()])
        for path, text in texts.items()
        for at in re.finditer(re.escape(paper), text)
    ]
    assert cited
    first = re.compile(r"\b(Goel|Sarmasarkar)\b")
    by = {name: first.search(text) for name, text in cited}
    wrong = {
        name for name, found in by.items() if not found or not PAPERS[paper].startswith(found[0])
    }
    assert wrong == set()


def test_the_readme_opens_with_the_two_commands() -> None:
    commands = [*typed(README)]
    assert [first_program(each) for each in commands[:2]] == [["make", "demo"], ["make", "test"]]


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("| ").split("|")]


SNIPPET = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SNIPPETS = [snippet for path in DOCUMENTS for snippet in SNIPPET.findall(path.read_text("utf-8"))]


def test_there_are_snippets_for_all_that_is_a_library() -> None:
    """They are run, with all commands, by tests/end_to_end/test_pages_as_typed.py."""
    packages = {word for text in SNIPPETS for word in re.findall(r"from (askew\w*)", text)}
    assert packages >= {"askew", "askew_client"}


def test_make_help_names_only_targets() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"^# make (\S+)", makefile, re.MULTILINE))
    assert {"demo", "test"} <= named <= make_targets()


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("```\nmake demo\n```", ["make demo"]),
        ("```console\n$ askew demo -k 3\nIt listens on\n```", ["askew demo -k 3"]),
        ("```sh\naskew-server serve \\\n  --demo\n```", ["askew-server serve    --demo"]),
        ("make nothing\n```\naskew: an error\nmakes sense\n```\n", []),
    ],
)
def test_typed_commands_are_found(text: str, commands: list[str]) -> None:
    assert list(typed(text)) == commands


@pytest.mark.parametrize(
    "command",
    [
        "make demo",
        "make PYTHON=python3.12 test",
        "askew demo -k 16 --level district  # a comment",
        "askew catalog | grep -i alien",
        "askew ask --ratings - --json < my-ratings.csv",
        "askew --help",
        "askew-server serve --model=model && make nothing",
        "askew-server ledger show --json > charges.json",
    ],
)
def test_a_real_command_passes(command: str) -> None:
    assert complaint(command) is None


@pytest.mark.parametrize(
    "command",
    [
        "askew-server ledger burn",
        "askew-server ledger show --everything",
        "make coffee",
        "askew dance",
        "askew ask --loud",
        "askew-server train --ratings a --fast",
    ],
)
def test_a_made_up_command_is_seen(command: str) -> None:
    assert complaint(command) is not None

"""Every command and snippet of the documents does what its page says, typed from top to bottom."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from pages import ROOT, TYPED, Session, differs, fences, played

from askew.errors import ConfigError
from askew.settings import tables_of
from askew_client.settings.config import SETTINGS
from askew_server.serving.settings import SETTINGS as OF_A_SERVER

GENERATED = ROOT / "docs/reference"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *(each for each in sorted((ROOT / "docs").rglob("*.md")) if each.parent != GENERATED),
    ROOT / "deploy/README.md",
    ROOT / "client/web/README.md",
]


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def parameters() -> Sequence[object]:
    """Each page of which something runs, once none of its fences is without a language."""
    found = []
    for page in PAGES:
        all_of = fences(text_of(page))
        if all(each.language for each in all_of) and any(each.runs for each in all_of):
            marks = [pytest.mark.nightly] if "<!-- nightly -->" in text_of(page) else []
            marks += [pytest.mark.slow] if page.name != "README.md" else []
            found.append(pytest.param(page, id=page.name, marks=marks))
    return found


@pytest.mark.parametrize("page", parameters())
def test_a_page_does_what_it_says(page: Path, tmp_path: Path) -> None:
    """The selections and draws among it go wrong less than once in 10**50 runs."""
    session = played(text_of(page), tmp_path)
    assert complaints(session) == []
    assert session.code == 0, (tmp_path / "shell.out").read_text()
    if session.left_out:
        pytest.skip(f"left out: what needs {', '.join(sorted(session.left_out))}")


def complaints(session: Session) -> list[str]:
    found = []
    for fence, expected, shown in session.printed:
        # Of a command a page may leave out what it prints; of Python it may not.
        silent = not expected and fence.language == "python"
        wrong = shown if silent else differs(expected, shown, "by chance" in fence.notes)
        if wrong:
            found.append(f"line {fence.line}: {wrong}")
    return found + session.unheard


def test_what_is_not_run_says_why() -> None:
    """In a reason of several words; and there are few."""
    reasons = [
        (page.name, fence.line, fence.notes["not run"])
        for page in PAGES
        for fence in fences(text_of(page))
        if fence.language in TYPED and not fence.runs
    ]
    assert [each for each in reasons if len(each[2].split()) < 3] == []
    assert len(reasons) <= 20, reasons


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_fence_says_what_it_is(page: Path) -> None:
    """Nothing that is typed hides in a fence of text; a setting in a file is one that exists."""
    typed = re.compile(r"\$ |>>> |(askew|askew-server|make|pip|python) ")
    for fence in fences(text_of(page)):
        assert fence.language, fence.line
        if fence.language == "text":
            assert [line for line in fence.body.splitlines() if typed.match(line)] == []
        if fence.language == "toml":
            tables = tables_of(fence.body.encode(), page.name)
            for settings in (SETTINGS, OF_A_SERVER):
                with suppress(ConfigError):
                    settings.read({}, {}, tables)
                    break
            else:
                pytest.fail(f"line {fence.line}")


@pytest.mark.thin
@pytest.mark.parametrize(
    "planted",
    [
        "```console\n$ echo four\nfive\n```\n",
        "```console\n$ echo one; echo two\none\n```\n",
        "<!-- by chance -->\n```console\n$ echo four; echo 5\nfive\n6\n```\n",
        "```python\nprint(1)  # 2\n```\n",
        "```python\n1 / 0\n```\n",
        "```console\n$ echo four\n```\n<!-- output -->\n```text\nfive\n```\n",
        "```console\n$ echo '(sent: 9, 9; as before)'\n(sent: 9, 9; as before)\n```\n",
        "<!-- heard: 1 -->\n```python\nprint(1)  # 1\n```\n",
    ],
)
def test_a_page_that_says_something_else_is_seen(tmp_path: Path, planted: str) -> None:
    assert len(complaints(played(planted, tmp_path))) == 1


@pytest.mark.parametrize("command", ["false | cat", "no-such-program", "sh -c 'exit 3' &"])
def test_a_command_that_fails_is_seen(tmp_path: Path, command: str) -> None:
    assert played(f"```console\n$ {command}\n```\n", tmp_path).code != 0


SENT = "(sent: 52.5, 13.4; as before)"
LEFT = (
    SENT,
    "(held: all 3 items are held and ranked here; nothing is drawn, charged or sent)",
    "(ask: one signal at epsilon 0.8 a rating, k 20)",
    "(all 3 items are held and ranked here: nothing is sent, epsilon 0)",
    "(this month's signal: epsilon 4)",
    "(a fresh signal was drawn and charged for this month)",
)


@pytest.mark.parametrize("by_chance", [True, False])
def test_dots_do_not_hide_what_left_the_device(by_chance: bool) -> None:
    """Nor does silence. Planted bug: the first page of operators said that nothing was sent."""
    for left in LEFT:
        printed = f"a\n(three items)\n{left}\nz"
        for page in ("a\n...", "a\n...\nz", "", "a\n...\n(...)\nz", "a\n...\n...; ...\nz"):
            assert differs(page.splitlines(), printed, by_chance) != "", page
        assert differs(["a", "...", left, "..."], printed, by_chance) == ""
    if by_chance:  # of which the numbers alone are not compared
        assert differs([SENT], "(sent: 47.125, 9; as before)", by_chance) == ""
        for printed in ("(sent: 47.125, 9; drawn and charged now)", ""):
            assert differs([SENT], printed, by_chance) != ""
    assert differs(["a", "...", "z"], "a\n(three items)\nz", by_chance) == ""


@pytest.mark.slow
def test_a_signal_of_which_a_page_says_nothing_is_heard(tmp_path: Path) -> None:
    """Planted bug: what a command says that it sent is thrown away."""
    page = """
```console
$ askew-server serve --demo places &
$ echo Berlin | askew place add home --region DE > /dev/null 2>&1
$ askew near food --place home > /dev/null
```
"""
    session = played(page, tmp_path)
    assert session.code == 0
    [heard] = complaints(session)
    assert "servers heard 1 signals of: askew near food" in heard


# What comments of its files tell people to type. Tests of the rooms deploy and supply have the same
# done where no cluster, no systemd and no builder of images is.
DEPLOYED = {
    "docker build -f deploy/Containerfile -t askew-server:0.1.0 .",
    "docker compose -f deploy/compose.yml up",
    "kubectl apply -f deploy/kubernetes.yaml",
    "systemctl enable --now askew-server@1 askew-server@2 askew-server@3",
    "python deploy/licenses.py",
}


def test_a_command_in_a_comment_of_deploy_has_a_test() -> None:
    """Planted bugs: a file of another name; one more command that nothing looks at."""
    programs = "docker|kubectl|systemctl|python|askew-server|openssl|nginx"
    typed = re.compile(
        rf"^#.*?[:,] ((?:{programs}) -?[a-z/].*)$|^# ((?:{programs}) [a-z-]+ .*)$", re.MULTILINE
    )
    found = {
        re.sub(r"(?<! )\.$", "", a or b)  # the end of a sentence
        for file in (ROOT / "deploy").iterdir()
        if file.is_file()
        for a, b in typed.findall(text_of(file))
    }
    assert found == DEPLOYED
    named = {word for each in found for word in re.findall(r"deploy/[\w./]*\w", each)}
    assert [each for each in named if not (ROOT / each).exists()] == []

"""Pages of documents as sessions: what a reader types from top to bottom, in one shell.

A fence is `console` (lines after "$ " are typed, the others are what comes back), `python` (pasted
into an interpreter, alone; a comment such as `# TopK(...)` is what the line above is worth), or
something that nobody types. Comments right before a fence say what a reader does not see:

    <!-- given: COMMANDS -->       what the reader has or did already
    <!-- not run: REASON -->       it is looked at only
    <!-- needs: PROGRAMS -->       it is run where they are installed
    <!-- by chance -->             lines with a digit are not compared
    <!-- output -->                of a `text` fence: it is what the fence before it printed
    <!-- heard: 2 -->              how many signals servers hear from a fence of Python; else none

In what is printed, `...` stands for anything, and alone on a line for any lines. It stands for no
part of a line that says what left the device: a page shows each of these whole. Where draws are by
chance, their numbers alone are not compared.

The servers of a page count what they hear, at /metrics. A command that says that a signal was sent
was heard; one that says something else, or nothing, was not.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
TYPED: Final = ("console", "python")
PATIENCE: Final = 300.0  # seconds of a whole page
_FENCE = re.compile(
    r"(?P<notes>(?:^<!--(?:(?!-->).)*-->\n)*)^```(?P<language>[^\n]*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_NOTE = re.compile(
    r"^<!-- *(given|not run|needs|by chance|output|heard):? *(.*?) *-->$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Fence:
    """One fence of a page. line: its first. notes: the comments before it, by their kind."""

    language: str
    body: str
    line: int
    notes: dict[str, str]

    @property
    def runs(self) -> bool:
        return self.language in TYPED and "not run" not in self.notes

    @property
    def commands(self) -> list[str]:
        """What is typed, a command each, which may have several lines."""
        found: list[str] = []
        for line in self.body.splitlines():
            if line.startswith("$ "):
                found.append(line.removeprefix("$ "))
            elif found and _goes_on(found[-1], line):
                found[-1] += "\n" + re.sub("^(> ?)", "", line)
        return found

    @property
    def printed(self) -> list[str]:
        """What comes back, by the page."""
        if self.language == "python":
            values = r"^(?: *print\(.*\)  # |# (?=[A-Z]\w*\())(.*)$"
            return re.findall(values, self.body, re.MULTILINE)
        shown, command = [], ""
        for line in self.body.splitlines():
            if line.startswith("$ "):
                command = line
            elif command and _goes_on(command, line):
                command += "\n" + line
            else:
                shown.append(line)
        return shown


def _goes_on(command: str, line: str) -> bool:
    return command.endswith("\\") or line.startswith("> ")


def fences(text: str) -> list[Fence]:
    return [
        Fence(
            found["language"],
            found["body"],
            text.count("\n", 0, found.start("language")) + 1,
            dict(_NOTE.findall(found["notes"])),
        )
        for found in _FENCE.finditer(text)
    ]


# Every Python process of a session has it: the ports that are used by default are free ones. The
# constants are changed before anything reads them.
_PORTS = """
import sys, os
from dataclasses import replace
shift = int(os.environ["SESSION_SHIFT"])
name = os.path.basename(sys.argv[0] if hasattr(sys, "argv") else "")
import askew_client.settings.config as config
config.DEFAULT_SERVER = f"127.0.0.1:{7571 + shift}"
server, *others = config.SETTINGS.settings
moved = (replace(server, default=config.DEFAULT_SERVER), *others)
config.SETTINGS = replace(config.SETTINGS, settings=moved)
try:
    import askew_server.cli.options as options
except ModuleNotFoundError:  # of another environment
    pass
else:
    options.SERVE_PORT += shift
    options.RELEASES_PORT += shift
"""
_PASTED = """
import code, sys
console = code.InteractiveConsole({"__name__": "__console__"})
for line in [*open(sys.argv[1], encoding="utf-8").read().splitlines(), ""]:
    console.push(line)
"""
_SHELL = r"""
set -euo pipefail
answers() {
  for ((tenths = 0; tenths < 1200; tenths++)); do
    grep -q '"event": "ready"' "$2" && return 0
    kill -0 "$1" 2>/dev/null || { cat "$2"; return 1; }
    sleep 0.1
  done
  return 1
}
# Writes how many signals the servers of the page heard, and how long a file is.
heard() {
  local port sum=0 count
  for port in $(grep -oshE 'metrics_port"?[=:] ?[0-9]+' "$1"/*.server | grep -oE '[0-9]+$'); do
    count=$( (exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3 &&
      sed -nE 's/^askew_requests_total\{.*method="Retrieve".* ([0-9]+).*/\1/p' <&3) 2>/dev/null |
      paste -sd+) || true
    sum=$((sum + ${count:-0}))
  done
  echo "$sum $(stat -c %s "$2")"
}
"""


@dataclass(frozen=True)
class Session:
    """What came of a page. printed: by each fence that ran, beside what the page says; left_out:
    programs that are not installed; unheard: what was said to be sent where servers counted
    something else.
    """

    code: int
    printed: list[tuple[Fence, list[str], str]]
    left_out: set[str]
    unheard: list[str]


def played(text: str, folder: Path, programs: Path = Path(sys.executable).parent) -> Session:
    """Every fence of a page, in one shell with a home and a working directory in this folder.
    programs: the folder of Python and of the two commands.
    """
    found, shift = fences(text), _free_ports()
    left_out: set[str] = set()
    home, work = folder / "home", folder / "work"
    for each in (home, work, folder / "site"):
        each.mkdir()
    (folder / "site/sitecustomize.py").write_text(_PORTS)
    (folder / "pasted.py").write_text(_PASTED)
    lines = [_SHELL]
    for number, fence in enumerate(found):
        missing = {each for each in fence.notes.get("needs", "").split() if not shutil.which(each)}
        left_out |= missing
        if fence.runs and not missing:
            lines += _typed(fence, number, folder)
    (folder / "session.sh").write_text(_moved("\n".join(lines), shift), encoding="utf-8")
    code = _run(folder, shift, home, work, programs)
    printed = []
    for number, fence in enumerate(found):
        output = folder / f"{number}.out"
        if output.exists():
            shown = _moved(output.read_text("utf-8", "replace"), -shift, 7570 + shift)
            after = found[number + 1 : number + 2]
            expected = after[0].body.splitlines() if after and "output" in after[0].notes else None
            printed.append((fence, fence.printed if expected is None else expected, shown))
    unheard = [
        each for number, fence in enumerate(found) for each in _unheard(folder, number, fence)
    ]
    return Session(code, printed, left_out, unheard)


def _typed(fence: Fence, number: int, folder: Path) -> Iterator[str]:
    output = folder / f"{number}.out"
    for given in fence.notes.get("given", "").replace("\\\n", "").splitlines():
        yield _kept(given, folder / "given.out")
    yield f": > {output}"
    if fence.language == "python":
        yield f"cat > {folder}/{number}.py <<'END_OF_FENCE'\n{fence.body}END_OF_FENCE"
        yield from _counted(
            f"python {folder}/pasted.py {folder}/{number}.py", output, f"{number}-0"
        )
        return
    for at, command in enumerate(fence.commands):
        yield from _counted(command, output, f"{number}-{at}")


def _counted(command: str, output: Path, name: str) -> Iterator[str]:
    """A command, between two looks at what servers heard."""
    look = f"heard {output.parent} {output} >> {output.parent}/{name}.heard"
    yield from (look, _kept(command, output), look)


def _kept(command: str, output: Path) -> str:
    """A command, waited for until it ends, or until it answers, if it is left in the background."""
    server = re.fullmatch(r"([^#]*[^#&])&\s*(#.*)?", command)
    if server is None:
        return f"{{ {command}\n}} >> {output} 2>&1"
    return f"{server[1]} > {output}.server 2>&1 &\nanswers $! {output}.server"


def _run(folder: Path, shift: int, home: Path, work: Path, programs: Path) -> int:
    kept = {
        name: os.environ[name] for name in ("LANG", "TMPDIR", "JAVA_HOME") if name in os.environ
    }
    environment = {
        **kept,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "PYTHONPATH": str(folder / "site"),
        "SESSION_SHIFT": str(shift),
        "OPENBLAS_NUM_THREADS": "1",
        "ASKEW_SERVER_METRICS_PORT": "0",
    }
    with (folder / "shell.out").open("wb") as out:
        shell = subprocess.Popen(
            ["bash", folder / "session.sh"],
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return shell.wait(PATIENCE)
        finally:
            _end(shell.pid)


def _end(group: int) -> None:
    for each in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(group, each)
        except ProcessLookupError:
            return


def _unheard(folder: Path, number: int, fence: Fence) -> Iterator[str]:
    for at, typed in enumerate([fence.body] if fence.language == "python" else fence.commands):
        looks = folder / f"{number}-{at}.heard"
        lines = looks.read_text().splitlines() if looks.exists() else []
        if len(lines) < 2:  # it did not run, or it failed
            continue
        before, begin, after, end = map(int, " ".join(lines).split())
        shown = (folder / f"{number}.out").read_bytes()[begin:end].decode("utf-8", "replace")
        if fence.language == "python":
            agree = after - before == int(fence.notes.get("heard", 0))
        else:
            agree = (after > before) == bool(re.search(f"^{SENT}", shown, re.MULTILINE))
        if not agree:
            yield f"line {fence.line}: servers heard {after - before} signals of: {typed}"


def _free_ports() -> int:
    """How far 7570 to 7579 are to be moved, so that all ten are free."""
    for first in range(20_000 + os.getpid() % 1000 * 10, 32_000, 10):
        with contextlib.ExitStack() as taken, contextlib.suppress(OSError):
            for port in range(first, first + 10):
                taken.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first - 7570
    raise OSError("no ten ports in a row are free")


def _moved(text: str, shift: int, first: int = 7570) -> str:
    tens = str(first // 10)
    return re.sub(rf"\b{tens}(\d)\b", lambda found: str(first + int(found[1]) + shift), text)


# How lines begin by which `near` and `ask` say that a signal was sent, or what was done instead.
SENT: Final = r"\((?:sent: |this month's signal: )"
NOTHING_LEFT: Final = r".*(?:nothing is sent|sends nothing about you)"
LEFT: Final = rf"(?:{SENT}|\((?:held: |ask: |a fresh signal was |{NOTHING_LEFT}))"


def differs(expected: list[str], shown: str, by_chance: bool = False) -> str:
    """Return how what is printed differs from what a page says, or "". A page may say nothing of
    it, unless it says what left the device.

    by_chance: lines with numbers are not compared. Takes a step for each pair of lines.
    """
    wanted, lines = (
        [" ".join(line.split()) for line in text if line.strip()]
        for text in (expected, shown.splitlines())
    )
    if by_chance:
        wanted, lines = ([_without_numbers(line) for line in text] for text in (wanted, lines))
        wanted = [line for line in wanted if not re.search(r"\d", line)]
    hides = [not re.match(LEFT, line) for line in lines]
    free = [
        by_chance and hides[at] and bool(re.search(r"\d", lines[at])) for at in range(len(lines))
    ]
    reached = _further({0}, free)  # how many lines may be accounted for by now
    for line in wanted or ([] if expected else ["..."]):
        if line == "...":
            reached = _further(reached, hides)
        else:
            same = re.compile(_pattern(line))
            reached = {at + 1 for at in reached if at < len(lines) and same.fullmatch(lines[at])}
        reached = _further(reached, free)
    if len(lines) in reached:
        return ""
    return "the page says\n{}\nand it printed\n{}".format(*map("\n".join, (wanted, lines)))


def _further(reached: set[int], may_pass: list[bool]) -> set[int]:
    further = set(reached)
    for at, passes in enumerate(may_pass):
        if passes and at in further:
            further.add(at + 1)
    return further


def _pattern(line: str) -> str:
    """What a line of a page stands for: dots are anything, but in what says what left."""
    if "..." not in line:
        return re.escape(line)
    return rf"(?!{LEFT})" + re.escape(line).replace(r"\.\.\.", ".*")


def _without_numbers(line: str) -> str:
    """A line that says what left the device, to be compared whatever the noise was."""
    return re.sub(r"-?\d+(?:\.\d+)?", "#", line) if re.match(LEFT, line) else line

"""Show the size of this project beside its goals, as `make check` does."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

ROOT = Path(__file__).parents[1]
GENERATED = re.compile(r"<!-- report: .*?<!-- end of report -->|<!-- .*?-->", re.DOTALL)
APART = ("proofs", "papers", "reference", "protocol.md", "index.md")  # of docs/, by other rules
OPENERS = {"the", "what", "who", "whether", "how", "as", "of"}
RECORDS = {"dataclass", "NamedTuple", "TypedDict", "Struct"}
TREES = ("shared/askew", "client/askew_client", "server/askew_server")


def modules(folder: str) -> list[Path]:
    """Return the hand-written modules of a folder."""
    found = (ROOT / folder).rglob("*.py")
    return sorted(path for path in found if "wire/v1" not in path.as_posix())


def lines(paths: list[Path]) -> int:
    return sum(path.read_text(encoding="utf-8").count("\n") for path in paths)


def nodes_of(paths: list[Path]) -> list[ast.AST]:
    return [node for path in paths for node in ast.walk(ast.parse(path.read_text("utf-8")))]


def statements(nodes: list[ast.AST]) -> int:
    return sum(isinstance(node, ast.stmt) for node in nodes)


def rooms(tree: str) -> int:
    """Count the folders and modules at the first level of a package."""
    return sum(
        path.is_dir() or path.suffix == ".py"
        for path in (ROOT / tree).iterdir()
        if not path.name.startswith("__")
    )


def repeated_classes(nodes: list[ast.AST]) -> int:
    """Count the names that several classes have."""
    names = Counter(node.name.lstrip("_") for node in nodes if isinstance(node, ast.ClassDef))
    return sum(count > 1 for count in names.values())


def classes(nodes: list[ast.AST], kinds: set[str]) -> int:
    """Count the classes that have one of these bases or decorators."""
    heads = [(*n.bases, *n.decorator_list) for n in nodes if isinstance(n, ast.ClassDef)]
    return sum(
        any(kinds & set(re.findall(r"\w+", ast.unparse(part))) for part in head) for head in heads
    )


def functions(nodes: list[ast.AST]) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def imports_in_functions(nodes: list[ast.AST]) -> int:
    within = [inner for function in functions(nodes) for inner in ast.walk(function)]
    return sum(isinstance(node, ast.Import | ast.ImportFrom) for node in within)


def share_of_openers(nodes: list[ast.AST]) -> float:
    """Return which per cent of docstrings opens with a word that is no verb."""
    texts = [text for function in functions(nodes) if (text := ast.get_docstring(function))]
    return 100 * sum(text.split()[0].lower() in OPENERS for text in texts) / len(texts)


def options(command: click.Command, context: click.Context) -> Iterator[str]:
    for each in command.params:
        if isinstance(each, click.Option):
            yield max(each.opts, key=len)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from options(below, context)


def words(paths: list[Path]) -> int:
    """Count hand-written words that a reader sees: what `make report` writes between its marks is
    left out, and so are comments.
    """
    texts = (path.read_text(encoding="utf-8") for path in paths)
    return sum(len(GENERATED.sub("", text).split()) for text in texts)


# Prints a file for each whose functions or classes ran, in any thread; not for one merely imported.
ENTERED = """
import sys, threading
entered = set()
def look(frame, event, _):
    if event == "call" and frame.f_code.co_name != "<module>":
        entered.add(frame.f_code.co_filename)
threading.setprofile(look)
sys.setprofile(look)
from askew_client.cli.start import main
try:
    main()
finally:
    sys.setprofile(None)
    print(*entered, sep="\\n", file=sys.stderr)
"""


def entered(words: list[str], stdin: str = "") -> int:
    done = subprocess.run(
        [sys.executable, "-c", ENTERED, *words],
        input=stdin, text=True, capture_output=True, check=True,
    )  # fmt: skip
    ours = {str(path) for tree in TREES for path in modules(tree)}
    return len(ours & set(done.stderr.splitlines()))


@contextmanager
def demo_server(kind: str) -> Iterator[str]:
    command = [sys.executable, "-m", "askew_server", "serve", "--demo", kind, "--port", "0"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"ASKEW_WITH_PARENT": "1"},  # it says where it listens
    ) as server:
        try:
            said = server.stdout.readline().decode() if server.stdout else ""
            yield re.findall(r"127\.0\.0\.1:\d+", said)[0]
        finally:
            server.terminate()


def entered_by_questions() -> tuple[int, int]:
    with tempfile.TemporaryDirectory() as folder:
        ratings = Path(folder, "ratings.csv")
        ratings.write_text("title,rating\nAlien (1979),5\n", encoding="utf-8")
        data = ["--data", f"{folder}/data"]
        entered(["profile", "import", str(ratings), *data])
        entered(["place", "add", "home", "--region", "DE", *data], "52.5, 13.4")
        counts = []
        for words, kind in ((["near", "food"], "places"), (["ask"], "films")):
            with demo_server(kind) as address:
                question = [*words, *data, "--server", address]
                entered(question)
                counts.append(entered(question))
    return counts[0], counts[1]


def main() -> int:
    from askew_client.cli.main import cli as device
    from askew_client.settings.config import SETTINGS
    from askew_server.cli.main import cli as server
    from askew_server.serving.settings import KEYS

    by_near, by_ask = entered_by_questions()
    source = [path for tree in TREES for path in modules(tree)]
    nodes = nodes_of(source)
    outside = nodes_of([path for path in source if path.parent.name != "cli"])
    of_device, of_server = (
        len(set(options(each, click.Context(each)))) for each in (device, server)
    )
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    docs = ROOT / "docs"
    pages = [each for each in docs.rglob("*.md") if each.relative_to(docs).parts[0] not in APART]
    documents = [*pages, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    rows = (
        ("lines of shared, client and server", lines(source), 43_000),
        ("statements of them", statements(nodes), 26_000),
        ("modules of them", len(source), 240),
        ("lines of benchmarks", lines(modules("benchmarks")), 6_500),
        ("record classes", classes(nodes, RECORDS), 200),
        ("protocols", classes(nodes, {"Protocol"}), 12),
        ("imports in functions, outside cli/", imports_in_functions(outside), 40),
        ("per cent of docstrings without a verb first", share_of_openers(nodes), 15),
        *(
            (f"first level of {tree}", rooms(tree), most)
            for tree, most in zip(TREES, (13, 15, 14), strict=True)
        ),
        ("class names that mean several things", repeated_classes(nodes), 5),
        ("files entered by one askew near", by_near, 45),
        ("files entered by one askew ask", by_ask, 45),
        ("options of askew", of_device, 22),
        ("options of askew-server", of_server, 60),
        ("settings of a device", len(SETTINGS.settings), 20),
        ("settings of a server", len(KEYS), 35),
        ("make targets", len({*re.findall(r"^[a-z-]+:", makefile, re.MULTILINE)}), 16),
        ("lines of tests", lines(modules("tests")), 46_000),
        ("statements of tests", statements(nodes_of(modules("tests"))), 28_000),
        ("hand-written words of README", words([ROOT / "README.md"]), 600),
        ("hand-written words of all documents", words(documents), 14_000),
    )
    print(f"{'':44} {'is':>8} {'at most':>8}")
    for name, found, most in rows:
        print(f"{name:44} {found:>8,.0f} {most:>8,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

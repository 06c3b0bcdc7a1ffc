"""The pages of docs/reference: written from the code, and by nobody's hand.

    python -m benchmarks.reference          all but the transcript of the demo
    python -m benchmarks.reference demo     that, too

They are committed, so that a clone has them without the tools of the site, and a test compares them
with what the code says today. `make report ARGS="--only render"` writes them, too.
"""

from __future__ import annotations

import inspect
import logging
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, log2, prod
from pathlib import Path
from typing import Any, Final

import click
import yaml

from askew import errors
from askew.settings import Setting
from askew.wire.status import FIXED_TEXT, status_of
from askew_client.cli import main as device
from askew_client.settings.config import SETTINGS
from askew_client.views.problems import hint_of
from askew_server.cli import main as server
from askew_server.cli.options import SERVE_PORT
from askew_server.counting import statements
from askew_server.counting.contract import CountingTask
from askew_server.serving.log import EVENTS
from askew_server.serving.metrics import Observer
from askew_server.serving.settings import KEYS

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / "docs/reference"
MARKS: Final = ROOT / "docs/marks.toml"
MARK: Final = "<!-- generated: make report writes this page -->\n\n"


def pages() -> Mapping[str, str]:
    """Return each page that the code alone determines, by its name."""
    made = {
        "commands": _commands,
        "settings": _settings,
        "metrics": _metrics,
        "errors": _errors,
        "sql": _sql,
        "marks": _marks,
    }
    return {f"{name}.md": MARK + "\n".join(page()) + "\n" for name, page in made.items()}


def _commands() -> Iterator[str]:
    yield "# Commands and options"
    yield ""
    yield "What `--help` prints of each command."
    for command, name in ((device.cli, "askew"), (server.cli, "askew-server")):
        for words, text in _helps(command, name):
            yield f"\n## {words}\n\n```text\n{text}\n```"


def _helps(
    command: click.Command, name: str, parent: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    word = name.rpartition(" ")[2]  # click writes those above it itself
    context = click.Context(
        command, parent, info_name=word, terminal_width=78, **command.context_settings
    )
    yield name, command.get_help(context)
    if isinstance(command, click.Group):
        for word in command.list_commands(context):
            below = command.get_command(context, word)
            if below is not None:
                yield from _helps(below, f"{name} {word}", context)


def _settings() -> Iterator[str]:
    yield "# Settings"
    yield ""
    yield (
        "A setting comes from its flag, else from its variable of the environment, else from the "
        "file in TOML, else it has its default. A variable that is empty says nothing."
    )
    yield "\n## Device\n"
    yield (
        "The file is `config.toml` in the platform's place (`~/.config/askew` on Linux). "
        "`askew --config FILE` and `ASKEW_CONFIG` name another. A variable is `ASKEW_` and the "
        "name: `ASKEW_PLACE_MONTHLY_CAP`."
    )
    yield ""
    yield from _table(
        ("Setting", "Meaning", "Default", "Accepted", "Flag"),
        (
            (
                f"`{each.name}`",
                each.help,
                _shown(each.default),
                each.kind.words,
                f"`{each.flag}`" if each.flag else "",
            )
            for each in SETTINGS.settings
        ),
    )
    yield "\n## Server\n"
    yield (
        "A name before the dot is a table of the file, such as `[server]`. `--config FILE` and "
        "`ASKEW_SERVER_CONFIG` name the file. A variable is `ASKEW_SERVER_`, the table and the "
        "name, without the table for `[server]`: `ASKEW_SERVER_PORT`, `ASKEW_SERVER_TLS_KEY`. "
        "Spaces separate a list. A variable beside a flag means the same to `serve-releases`."
    )
    yield ""
    yield from _table(
        ("Setting", "Meaning", "Default", "Accepted", "Flag"),
        map(_of_server, KEYS),
    )


def _of_server(key: Setting) -> Sequence[str]:
    # Only an object of Python takes a free port by itself; the commands have one of their own.
    default = SERVE_PORT if key.name == "server.port" else key.default
    names = filter(None, (key.flag, key.shared))
    return (
        f"`{key.name}`",
        re.sub(r"\s*\[default: .*\]", "", key.help),
        _shown(default),
        key.kind.words,
        ", ".join(f"`{name}`" for name in names),
    )


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"`{value}`" if value not in {None, "", ()} else ""


_ENDS: Final = {"counter": "_total", "info": "_info"}  # of a name, as Prometheus reads it


def _metrics() -> Iterator[str]:
    yield "# Metrics, alerts and the log"
    yield "\n## Metrics\n"
    yield "What `/metrics` tells Prometheus, where `metrics.port` is set."
    yield ""
    observer = Observer()
    observer.serves(lambda: 0, dict)  # a model; without one, its metrics are left out
    observer.shows_certificate(lambda: 0.0)
    families = [*observer.registry.collect()]
    labels = {each.name: vars(each).get("_labelnames", ()) for each in families}
    labels |= {
        vars(each)["_name"]: vars(each)["_labelnames"]
        for each in observer.registry._collector_to_names
        if "_labelnames" in vars(each)
    }
    yield from _table(
        ("Metric", "Kind", "Labels", "Meaning"),
        (
            (
                f"`{each.name}{_ENDS.get(each.type, '')}`",
                each.type,
                ", ".join(f"`{name}`" for name in labels[each.name]),
                each.documentation,
            )
            for each in sorted(families, key=lambda each: each.name)
            if each.name.startswith("askew")
        ),
    )
    yield "\n## Alerts\n"
    yield "Rules of `deploy/alerts.yaml`. A page wakes somebody; a ticket waits for the morning."
    yield ""
    groups = yaml.safe_load((ROOT / "deploy/alerts.yaml").read_text("utf-8"))["groups"]
    yield from _table(
        ("Alert", "Severity", "After", "What happened", "What to do"),
        (
            (
                f"`{rule['alert']}`",
                rule["labels"]["severity"],
                rule.get("for", "at once"),
                rule["annotations"]["summary"],
                rule["annotations"]["action"],
            )
            for group in groups
            for rule in group["rules"]
        ),
    )
    yield "\n## Events of the log\n"
    yield "No line has another field, but for its time and its level."
    yield ""
    yield from _table(
        ("Event", "Level", "Fields"),
        (
            (
                f"`{name}`",
                logging.getLevelName(level).lower(),
                ", ".join(f"`{field}`" for field in fields),
            )
            for name, (level, fields) in EVENTS.items()
        ),
    )


def _errors() -> Iterator[str]:
    yield "# Errors"
    yield ""
    yield (
        "Every error that Askew raises on purpose is in `askew.errors`; those of a device are in "
        "`askew_client`, too. In brackets is the error that it is a kind of. The exit codes are "
        "those of `askew` and `askew-server`. A caller over the network sees the status code. It "
        f'sees the text of a `WireError`, and for every other error "{FIXED_TEXT}".'
    )
    yield ""
    yield from _table(
        ("Error", "Meaning", "Status code", "Exit codes", "On a device"),
        map(_of_error, _tree(errors.AskewError)),
    )


def _tree(kind: type[errors.AskewError]) -> Iterator[type[errors.AskewError]]:
    yield kind
    for each in kind.__subclasses__():
        if each.__module__ == errors.__name__:
            yield from _tree(each)


def _of_error(kind: type[errors.AskewError]) -> Sequence[str]:
    error = kind.__new__(kind)  # only its type is looked at
    meaning = re.split(r"\s*Attributes?: ", inspect.cleandoc(kind.__doc__ or ""))[0]
    base = kind.__mro__[1]
    shown = "" if base in {Exception, errors.AskewError} else f" (`{base.__name__}`)"
    return (
        f"`{kind.__name__}`{shown}",
        " ".join(meaning.split()),
        f"`{status_of(error)[0].name}`",
        f"{device.exit_code(error)}, {server.exit_code(error)}",
        hint_of(kind),
    )


_ENGINES: Final = {
    "DuckDB": "duckdb",
    "PostgreSQL": "postgres",
    "Spark": "spark",
}


def _sql() -> Iterator[str]:
    yield "# The statements of counting"
    yield ""
    yield (
        "What `askew-server release` asks each engine, for a table `events` with the text columns "
        "`unit` and `item`, at most 100 items of a unit, and the 1,001 most popular items. "
        "`secret` is a parameter, new for every count."
    )
    task = CountingTask(events="events", max_items_per_unit=100, limit=1001)
    yield "\n## Without a catalog"
    yield from _on_each_engine(task)
    yield "\n## With a public catalog\n"
    yield "The same for a table `catalog` of every item there is: each of its items comes back."
    yield from _on_each_engine(
        CountingTask(events="events", catalog="catalog", max_items_per_unit=100, limit=None)
    )


def _on_each_engine(task: CountingTask) -> Iterator[str]:
    columns = {"unit_column": "unit", "item_column": "item", "catalog_item_column": "item"}
    for engine, dialect in _ENGINES.items():
        words = statements.DIALECTS[dialect]
        names = {f"{name}_table": words.quoted(name) for name in ("events", "catalog")}
        text_type = min(words.texts)
        names |= {place: words.named(name, text_type) for place, name in columns.items()}
        text = statements.carried(statements.counting(task, dialect), names, dialect)
        yield f"\n### {engine}{', with a catalog' if task.catalog else ''}\n\n```sql\n{text}\n```"


KINDS: Final = ("titles", "places", "axes")


def marks() -> list[dict[str, Any]]:
    """Return the fields of docs/marks.toml."""
    rows: list[dict[str, Any]] = tomllib.loads(MARKS.read_text(encoding="utf-8"))["field"]
    return rows


def bits_of(rows: Iterable[Mapping[str, Any]], kind: str) -> float:
    """Return the bits of all these fields together, rounded up to a tenth."""
    return ceil(10 * log2(prod(each["values"][kind] for each in rows))) / 10


def _marks() -> Iterator[str]:
    yield "# Marks"
    yield ""
    yield (
        "A server may serve each device something else, to know it again by what it sends. Of each "
        "field of each message that a device sends, this is how many values a server can choose "
        "among. A device sends these messages and no others; "
        "[guarantees](../guarantees.md#what-still-marks-a-device) say what else marks it."
    )
    yield ""
    rows = marks()
    yield from _table(
        ("Message", "Field", *(f"Of {kind}" for kind in KINDS), "Why"),
        (
            (
                f"`{each['message']}`" if each["message"].isalnum() else each["message"],
                f"`{each['field']}`" if each["message"].isalnum() else each["field"],
                *(str(each["values"][kind]) for kind in KINDS),
                each["why"],
            )
            for each in rows
        ),
    )
    of_files = [each for each in rows if not each["message"].isalnum()]
    asked = [each for each in rows if each not in of_files]
    yield ""
    said = [f"{bits_of(asked, kind):g} of {kind}" for kind in KINDS]
    weekly = bits_of(of_files, "titles")
    live = bits_of([row for row in rows if row["message"].endswith("live values")], "places")
    yield (
        f"Bits of one question together: {', '.join(said)}. Of files: {weekly:g} a week. Of live "
        f"values, in place of a question: {live:g}."
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def demo_page(transcript: str) -> str:
    """Return the page of what one run of `askew demo` printed."""
    text = "\n".join(line.rstrip() for line in transcript.strip("\n").splitlines())
    return (
        f"{MARK}# The demo\n\nWhat one run of `askew demo` printed. The noise differs each time.\n"
        f"\n```text\n{text}\n```\n"
    )


def written() -> None:
    """Write every page but the demo's anew."""
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def main() -> None:
    written()
    if sys.argv[1:] == ["demo"]:
        command = [str(Path(sys.executable).with_name("askew")), "demo"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        (FOLDER / "demo.md").write_text(demo_page(done.stdout), encoding="utf-8")


if __name__ == "__main__":
    main()

"""How the workers of the tests run, and which tests share one."""

from __future__ import annotations

import gc
import os
import signal
from collections import defaultdict
from unittest.mock import patch

import pytest
from hypothesis import settings
from rooms import Rooms
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

# gRPC reads it once, when it is imported, and would write past what pytest captures. What the tests
# start decides by itself.
with patch.dict(os.environ, GRPC_VERBOSITY="NONE"):
    import grpc  # noqa: F401

# Thousands of collected tests are half a million objects that live to the end: to look them through
# after every 700 new objects, as Python does by itself, took a quarter of the time of tests of the
# app.
gc.set_threshold(20_000)

# Where `make test` runs in the background of a script, SIGINT is ignored, and so it would be by all
# that the tests start: those of Ctrl-C would wait for good.
signal.signal(signal.SIGINT, signal.default_int_handler)

# An example that takes long on a busy machine is no fault.
settings.register_profile("askew", deadline=None)
settings.load_profile("askew")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Rooms(config))


@pytest.hookimpl(tryfirst=True)  # before slow ones are left out by their mark
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases of a thin function that stay out of `make test` as slow."""
    cases: dict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("thin"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for of_one in cases.values():
        kept = {case.name for case in thinned(of_one)}
        for item in of_one:
            if item.name not in kept:
                item.add_marker(pytest.mark.slow)


def thinned(cases: list[pytest.Function]) -> list[pytest.Function]:
    """Return n cases, evenly spread, for thin(n); else some that have every parameter's values."""
    mark = cases[0].get_closest_marker("thin")
    assert mark is not None
    if mark.args:
        n, last = mark.args[0], len(cases) - 1
        return [cases[round(at * last / max(1, n - 1))] for at in range(n)]
    values = {case.name: {(a, id(v)) for a, v in case.callspec.params.items()} for case in cases}
    missing, kept = set().union(*values.values()), []
    while missing:
        best = max(cases, key=lambda case: len(missing & values[case.name]))
        kept.append(best)
        missing -= values[best.name]
    return kept


def pytest_collection_finish() -> None:
    """They are set aside, so that no collection of garbage looks through them again."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Nanobind prints pages of what is not collected in the end."""
    gc.unfreeze()


class ByWhatIsStarted(LoadFileScheduling):  # type: ignore[misc]  # it has no types
    """The tests of a file run in one worker, in order, and so do all files of one engine: what they
    share, such as a server, a demo played to its end or Spark, is started once. Pages of documents
    share nothing, and all of them take longer than any file: each runs where there is room.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        if file.endswith("test_pages_as_typed.py"):
            return nodeid
        engines = [each for each in ("postgres", "spark") if f"_{each}_" in file]
        return engines[0] if engines else file


@pytest.hookimpl(optionalhook=True)  # tests run without xdist, too
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByWhatIsStarted | None:
    """For `--dist loadfile`; a file alone says too little, and groups by name are not kept."""
    return ByWhatIsStarted(config, log) if config.getoption("dist") == "loadfile" else None

"""Engines that are not installed: their tests are skipped, saying what to get, or fail in CI."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

# A JVM that lives for a minute pays for compiling well, and for collecting in parallel.
QUICK_JVM = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def require_driver(module: str) -> None:
    """Leaves a test module unless the Python package is installed."""
    if find_spec(module) is None:
        _unavailable(f"the Python package {module} is not installed; get it by: make engines")


def require_java() -> None:
    """Leaves a test module unless Spark could start."""
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        _unavailable("Spark needs java; get it by: apt-get install default-jre-headless")


def require_postgres() -> Path:
    """The folder of initdb and pg_ctl, which Debian keeps off the path."""
    if program := shutil.which("pg_ctl"):
        return Path(program).resolve().parent
    if folders := sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")):
        return folders[-1].parent
    return _unavailable("PostgreSQL is not installed; get it by: apt-get install postgresql")


def _unavailable(message: str) -> Path:
    if os.environ.get("ASKEW_ENGINES") == "require":
        raise RuntimeError(f"ASKEW_ENGINES=require, but {message}")
    pytest.skip(message, allow_module_level=True)

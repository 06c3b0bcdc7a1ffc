"""The released protocol: a change that would break a device in the field does not pass, and no
message names a person.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUF = Path(sys.executable).with_name("buf")
PROTO = "askew/wire/v1/retrieval.proto"


@pytest.fixture
def proto(tmp_path: Path) -> Path:
    """A copy of the protocol's sources."""
    shutil.copytree(ROOT / "proto", tmp_path / "proto")
    return tmp_path / "proto"


def breaking(proto: Path) -> subprocess.CompletedProcess[str]:
    released = ROOT / "proto/released.json"
    return subprocess.run(
        [BUF, "breaking", proto, "--against", released, "--error-format", "json"],
        capture_output=True,
        text=True,
        check=False,
    )


def change(proto: Path, before: str, after: str) -> None:
    path = proto / PROTO
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1
    path.write_text(text.replace(before, after), encoding="utf-8")


def test_todays_protocol_breaks_nobody(proto: Path) -> None:
    run = breaking(proto)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_an_addition_breaks_nobody(proto: Path) -> None:
    values = "repeated sfixed32 values = 5;"
    change(proto, values, f"{values}\n  // Later.\n  bytes more = 99;")
    run = breaking(proto)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("after", "rule"),
    [
        ("reserved 3;", "FIELD_NO_DELETE"),
        ("fixed32 n_items = 90;", "FIELD_NO_DELETE"),
        ("uint32 n_items = 3;", "FIELD_SAME_TYPE"),
        ("fixed32 count = 3;", "FIELD_SAME_NAME"),
    ],
)
def test_a_change_that_breaks_a_device_is_refused(proto: Path, after: str, rule: str) -> None:
    """Of each kind one; which kinds there are is buf's own matter."""
    change(proto, "fixed32 n_items = 3;", after)
    run = breaking(proto)
    assert run.returncode == 100, run.stdout + run.stderr  # buf's code for "it breaks"
    assert rule in run.stdout


def test_no_message_on_the_wire_names_a_person_a_device_or_a_time() -> None:
    """Planted bug: a session, a device id or a clock in the protocol."""
    protos = sorted((ROOT / "proto").rglob("retrieval.proto"))  # analysts' tokens are another's
    fields = [
        name
        for proto in protos
        for name in re.findall(
            r"^\s*(?:repeated )?\w+ (\w+) = \d+;", proto.read_text(), re.MULTILINE
        )
    ]
    telling = {"account", "client", "clock", "cookie", "device", "id", "person", "session"}
    telling |= {"time", "timestamp", "token", "user", "uuid"}
    assert [name for name in fields if telling & set(name.split("_"))] == []
    assert "values" in fields

"""What a wheel holds, beside the code."""

from __future__ import annotations

import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]


def test_the_wheel_has_the_protocol_files(tmp_path: Path) -> None:
    """For clients in other languages, at the path by which each file is known to the other."""
    (made,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    protocol = {path.relative_to(ROOT / "proto"): path for path in ROOT.glob("proto/**/*.proto")}
    assert len(protocol) >= 2
    with zipfile.ZipFile(made) as wheel:
        for name, path in protocol.items():
            assert wheel.read(name.as_posix()) == path.read_bytes()

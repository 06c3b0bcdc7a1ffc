"""Memory does not grow with people times items: work for many of both, within a limit that any
matrix of them passes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

WORK = Path(__file__).with_name("many_people.py")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "mebibytes"),
    [
        # 100,000 by 8,000: 3.2 GB in single precision, 800 MB of one byte each
        ("train", 700),
    ],
)
def test_many_people_and_many_items_fit_into_little_memory(name: str, mebibytes: int) -> None:
    """Planted bugs, MemoryError each: scores of all people, or of all who are sampled, at once."""
    command = [sys.executable, str(WORK), name, str(mebibytes)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]

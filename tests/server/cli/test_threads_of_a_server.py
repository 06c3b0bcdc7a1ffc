"""A server computes on one thread: those of BLAS would take the cores of other calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import json, sys
import numpy
from threadpoolctl import threadpool_info
from askew_server.cli.serve import ModelReader
from askew_server.demo.simulation import demo_model

def threads():
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

before = threads()
ModelReader(None, print).model(demo_model())
print(json.dumps([before, threads()]))
"""


@pytest.mark.slow
def test_a_server_computes_on_one_thread_whatever_the_environment_says() -> None:
    """Planted bug: no limit, which leaves as many as there are cores."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, capture_output=True, env=environment
    )
    before, after = json.loads(ran.stdout)
    assert set(before) <= {1, 2}
    assert set(after) == {1}

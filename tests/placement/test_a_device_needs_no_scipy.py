"""The device installs numpy alone."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
sys.modules["scipy"] = None  # any import of scipy now fails
import numpy as np
from askew.placement import *
from askew.placement.hexagonal import place_on_map
from askew.placement.ring import place_on_wrapped_line
for h in (Identity(), Power(0.3), Saturating(2.0), Log1p(1.0), Cap(1.0), Threshold(1.0),
          Expm1(0.1), np.sqrt):
    place(Laplace(1.0), h, 6)
offsets = place(Laplace(1.0, 5), Identity(), 16).offsets
positions = np.zeros((30, 5), np.float32)
snap(np.zeros(5), offsets, positions, 16)
place(Laplace(1.0, 20), Identity(), 16, on_demand=False)
place_on_map(0.277, 20)
place_on_wrapped_line(0.25, 24.0, Identity(), 5)
assert not any(name.startswith("scipy.") for name in sys.modules)
"""


def test_laplace_noise_grids_codebooks_and_items_work_without_scipy() -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM], check=True)

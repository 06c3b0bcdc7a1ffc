"""Where the k results go: the optimal offset rule (Goel et al., Differential Privacy Under
Multiple Selections, arXiv 2407.14641), and what a server needs beyond it.

    place(Laplace(epsilon=2.0), Power(2.0), k=5).offsets                      # (5,), on the line
    place(Laplace(epsilon=2.0, dimension=3), Identity(), k=16).offsets        # (16, 3)

`hexagonal` places results on maps. What answers a signal with them is in `askew.offset_rule`.
"""

from askew.placement.problem import (
    Certificate,
    Disutility,
    Identity,
    Laplace,
    Placement,
    Power,
)
from askew.placement.rule import place

__all__ = [
    "Certificate",
    "Disutility",
    "Identity",
    "Laplace",
    "Placement",
    "Power",
    "place",
]

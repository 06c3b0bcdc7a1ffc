"""Where the k results go: the optimal offset rule (Goel et al., Differential Privacy Under
Multiple Selections, arXiv 2407.14641).

    place(Laplace(epsilon=2.0), Identity(), k=5).offsets
"""

from askew.placement.problem import Identity, Laplace, Placement
from askew.placement.rule import place
from askew.placement.snap import snap

__all__ = ["Identity", "Laplace", "Placement", "place", "snap"]

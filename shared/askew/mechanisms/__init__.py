"""Private top-k selection: every mechanism exact, on integers and fractions.

Built first, from public parameters; run later, on private counts. `select(counts, bits=...)`
returns item indices; `privacy_loss()` says what that costs. `askew.mechanisms.noisy_counts` and
`askew.mechanisms.covariance` select nothing: they add noise to counts and to a matrix of likes.
"""

from askew.mechanisms.canonical import Canonical
from askew.mechanisms.joint import Joint, PNFJoint
from askew.mechanisms.limited_domain import LaplaceLimitedDomain, LimitedDomain, Selection
from askew.mechanisms.lipschitz import (
    ConcentratedPeeling,
    LaplaceCounts,
    Lipschitz,
    OneShot,
    Peeling,
    PermuteAndFlip,
)

__all__ = [
    "Canonical",
    "ConcentratedPeeling",
    "Joint",
    "LaplaceCounts",
    "LaplaceLimitedDomain",
    "LimitedDomain",
    "Lipschitz",
    "OneShot",
    "PNFJoint",
    "Peeling",
    "PermuteAndFlip",
    "Selection",
]

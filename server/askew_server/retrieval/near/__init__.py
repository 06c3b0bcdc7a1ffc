"""Near a place: rules from a noisy position, or a noisy point on axes, to k items.

    index = MetricIndex(space, coordinates)                    # (n, 2) degrees, or (n, d) on axes
    density = Density.of_towns(index.frame, towns)            # only `posterior` and `remap` use it
    rule = near_rule_of(MetricRuleKind.POSTERIOR, index, density)      # the bare rule
    rule = served_rule_of(MetricRuleKind.POSTERIOR, index, density)    # what a server answers by
    rule.choose(signal, k)                                     # (k,) int64, distinct, ascending

Every rule depends on the signal and on public things alone, so it is post-processing, and throws no
coins: the same bytes get the same answer.
"""

from askew_server.retrieval.near.answers import (
    MetricAnswers,
    kinds_of,
    near_rule_of,
    served_rule_of,
)
from askew_server.retrieval.near.density import Density
from askew_server.retrieval.near.index import MetricIndex
from askew_server.retrieval.near.rules import Kinds, NearRule

__all__ = [
    "Density",
    "Kinds",
    "MetricAnswers",
    "MetricIndex",
    "NearRule",
    "kinds_of",
    "near_rule_of",
    "served_rule_of",
]

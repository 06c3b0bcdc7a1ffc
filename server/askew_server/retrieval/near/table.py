"""Which rule a name stands for: the bare ones, for comparisons, and those that a server answers by.

| rule | k items | served as |
|---|---|---|
| `codebook` | nearest to the probes signal + offset, offsets placed for the noise | best of two |
| `items` | that cost whoever may have sent the signal least, by the noise alone | best of three |
| `posterior` | the same, people being where the density has them | best of three |
| `nearest` | nearest to the signal | itself |
| `remap` | nearest to the posterior's median | never |
| `one`, `area`, `cell` | see `baselines`; as many as they need | never |

Best of two are `codebook` and `nearest`, of three these and the own set, for this very signal, by
the objective in `sampled` and `served_codebook`. Everything in a rule is public: post-processing,
free of charge.
"""

from __future__ import annotations

from askew.errors import ParameterError
from askew.placement.problem import Disutility
from askew.rule_kind import MetricRuleKind
from askew_server.retrieval.near.baselines import Area, Cell, One, Remap
from askew_server.retrieval.near.density import Density
from askew_server.retrieval.near.index import MetricIndex
from askew_server.retrieval.near.kinds import Kinds
from askew_server.retrieval.near.people import ByDensity, ByNoise
from askew_server.retrieval.near.rules import Codebook, Nearest, NearRule, ServedRule
from askew_server.retrieval.near.sampled import Objective, Sampled
from askew_server.retrieval.near.served_codebook import ServedCodebook


def near_rule_of(
    kind: MetricRuleKind,
    index: MetricIndex,
    density: Density | None = None,
    kinds: Kinds | None = None,
    disutility: Disutility | None = None,
) -> NearRule:
    """The bare rule of this name. density: for `posterior` and `remap`. disutility: h, default
    h(t) = t. kinds: for `items` and `posterior`.

    Raises ParameterError for a rule that needs a density where there is none.
    """
    match kind:
        case MetricRuleKind.NEAREST:
            return Nearest(index)
        case MetricRuleKind.CODEBOOK:
            return Codebook(index, disutility)
        case MetricRuleKind.ONE:
            return One(index)
        case MetricRuleKind.CELL:
            return Cell(index)
        case MetricRuleKind.AREA:
            return Area(index, ByNoise(index.frame))
        case MetricRuleKind.REMAP:
            return Remap(index, ByDensity(index.frame, _known(kind, density)))
        case _:
            return _sampled(kind, index, density, kinds, disutility, served=False)


def served_rule_of(
    kind: MetricRuleKind,
    index: MetricIndex,
    density: Density | None = None,
    kinds: Kinds | None = None,
    disutility: Disutility | None = None,
) -> ServedRule:
    """What a server answers by whose card names this rule. Raises ParameterError as above, and for
    a rule that no card names.
    """
    if not kind.served:
        raise ParameterError("rule", str(kind), "one that is served")
    if kind is MetricRuleKind.NEAREST:
        return Nearest(index)
    if kind is MetricRuleKind.CODEBOOK:
        return ServedCodebook(index, disutility)
    return _sampled(kind, index, density, kinds, disutility, served=True)


def _sampled(  # noqa: PLR0913
    kind: MetricRuleKind,
    index: MetricIndex,
    density: Density | None,
    kinds: Kinds | None,
    disutility: Disutility | None,
    *,
    served: bool,
) -> ServedRule:
    anywhere = kind is MetricRuleKind.ITEMS
    frame = index.frame
    people = ByNoise(frame) if anywhere else ByDensity(frame, _known(kind, density))
    others = (Codebook(index, disutility), Nearest(index))
    return Sampled(Objective(index, people, disutility, kinds), others, served=served)


def _known(kind: MetricRuleKind, density: Density | None) -> Density:
    if density is None:
        raise ParameterError("rule", str(kind), "one without a density of people: none is known")
    return density

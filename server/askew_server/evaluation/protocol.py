"""What a study compares."""

from __future__ import annotations

from dataclasses import dataclass

from askew.errors import ParameterError
from askew.rule_kind import RuleKind
from askew_server.evaluation.rules import RULES
from askew_server.evaluation.split import HELD_OUTS, HeldOut
from askew_server.evaluation.truths import TRUTHS, TruthName
from askew_server.training.buckets import SIZES


@dataclass(frozen=True)
class Protocol:
    """What is compared. epsilons: plain, between any two people. dimensions: tried for the
    posterior rule at `dimension_epsilon`, beside the dimension that suits each epsilon. sizes:
    numbers of buckets that validation chooses from. learned: directions learned rather than
    principal. held_out: which fifth of each person's ratings.
    Raises ParameterError for an empty or invalid list.
    """

    truths: tuple[TruthName, ...] = TRUTHS
    rules: tuple[RuleKind, ...] = RULES
    epsilons: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0)
    ks: tuple[int, ...] = (1, 5, 20)
    seeds: tuple[int, ...] = (0, 1, 2)
    dimensions: tuple[int, ...] = (1, 2, 4, 8)
    dimension_epsilon: float = 4.0
    sizes: tuple[int, ...] = SIZES
    min_ratings: int = 20
    learned: bool = True
    held_out: HeldOut = "random"

    def __post_init__(self) -> None:
        for name in ("truths", "rules", "epsilons", "ks", "seeds", "sizes"):
            given = getattr(self, name)
            if not given or len(set(given)) != len(given):
                raise ParameterError(name, given, "one or more, all different")
        for name, known in (("truths", TRUTHS), ("rules", RULES)):
            if not set(getattr(self, name)) <= set(known):
                raise ParameterError(name, getattr(self, name), f"among {', '.join(known)}")
        if self.held_out not in HELD_OUTS:
            raise ParameterError("held_out", self.held_out, f"among {', '.join(HELD_OUTS)}")
        if not all(1 <= k <= 64 for k in self.ks):
            raise ParameterError("k", self.ks, "from 1 to 64")
        if not all(1 / 64 <= epsilon <= 16 for epsilon in self.epsilons):
            raise ParameterError("epsilons", self.epsilons, "from 1/64 to 16")

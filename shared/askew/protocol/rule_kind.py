"""The ways to choose k items for a signal: the one table that says what each of them needs.

A rule's name stands on the wire, in a card and on the command line; what follows from it is read
off its row. `askew.retrieval.rules` has the rules themselves.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

Reads = Literal["point", "bucket", "nothing"]


class RuleKind(StrEnum):
    """A row: the name, and

    reads: what of a signal the rule looks at; one that reads nothing needs nothing sent.
    needs_prior: whether it weighs people whom the server may know.
    served: whether a card may name it; the others are there to be compared with.
    """

    reads: Reads
    needs_prior: bool
    served: bool

    # The first of equals is the simplest, and serves.
    NONE = "none", "nothing", False, True
    OFFSETS = "offsets", "point", False, True
    CODEBOOK = "codebook", "point", False, True
    POSTERIOR = "posterior", "point", True, True
    BUCKETS = "buckets", "bucket", True, True
    NAIVE = "naive", "point", False, False
    OPEN = "open", "nothing", False, False

    def __new__(  # the defaults are for looking a row up by its name alone
        cls, name: str, reads: Reads = "point", needs_prior: bool = False, served: bool = False
    ) -> RuleKind:
        """One row."""
        row = str.__new__(cls, name)
        row._value_ = name
        row.reads, row.needs_prior, row.served = reads, needs_prior, served
        return row


SERVED = tuple(kind for kind in RuleKind if kind.served)


class MetricRuleKind(StrEnum):
    """The ways to choose k items in a metric space: the name, and whether a card may name it.

    Those that are not served are there to be compared with.
    """

    served: bool

    CODEBOOK = "codebook", True
    ITEMS = "items", True
    POSTERIOR = "posterior", True
    NEAREST = "nearest", True
    REMAP = "remap", False
    ONE = "one", False
    AREA = "area", False
    CELL = "cell", False

    def __new__(cls, name: str, served: bool = False) -> MetricRuleKind:
        """One row."""
        row = str.__new__(cls, name)
        row._value_ = name
        row.served = served
        return row


SERVED_IN_METRIC_SPACES = tuple(kind for kind in MetricRuleKind if kind.served)

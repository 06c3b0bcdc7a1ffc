"""The rules that answer signals; the utility table: modes of serving, and what each gave people
whom the model did not see.

    local    the device holds every item and ranks them itself: nothing is sent
    cached   the device holds some items, the same for everybody, and ranks those: nothing is sent
    query    it also sends one noisy signal, and ranks what comes back beside what it holds

A card proposes one of them. What a signal would cost is not said here: a device reckons it itself,
from the mechanism and the space.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final, Literal, get_args

from askew.errors import OutOfRange

MechanismName = Literal["geo_laplace", "bucket_rr"]
MECHANISMS: tuple[MechanismName, ...] = get_args(MechanismName)
MAX_ROWS = 256
MAX_FILE_BYTES = 1 << 40
DEVICE_BYTES: Final = 4_000_000
"""The largest file that a device holds by default: what is whole within it needs no signal."""
DEFAULT_BYTES: Final = 800_000
"""The file of the default items, where the whole is larger than that: a device holds and ranks as
many within 100 MB of memory (`make bench NAME=thin`).
"""


Reads = Literal["point", "bucket", "nothing"]


class RuleKind(StrEnum):
    """A way to choose k items for a signal: its name, and

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

    def __new__(  # the defaults are for looking a row up by its name alone
        cls, name: str, reads: Reads = "point", needs_prior: bool = False, served: bool = False
    ) -> RuleKind:
        """One row."""
        row = str.__new__(cls, name)
        row._value_ = name
        row.reads, row.needs_prior, row.served = reads, needs_prior, served
        return row


SERVED = tuple(kind for kind in RuleKind if kind.served)


class ServingMode(StrEnum):
    """How a device is served."""

    LOCAL = "local"
    CACHED = "cached"
    QUERY = "query"


@dataclass(frozen=True)
class ModeUtility:
    """One mode, and what it gave.

    mechanism, epsilon, k: of the signal, epsilon being the mechanism's own parameter (per distance
    for geo_laplace); None, 0 and 0 where nothing is sent. held: how many items the device holds.
    size: the bytes of those, which everybody fetches alike. ndcg, recall: NDCG@10 and recall@20 of
    what people liked whom the model did not see. gain: the paired difference of NDCG@10 to as many
    items for everybody. Each has its standard error; all are in thousandths. equivalent_items: how
    many items for everybody, beyond those held, would give as much NDCG@10 as the signal; 0 where
    nothing is sent, or where none of those tried did. Raises OutOfRange for anything that cannot be
    so.
    """

    mode: ServingMode
    held: int
    size: int
    ndcg: float
    gain: float = 0.0
    gain_error: float = 0.0
    mechanism: MechanismName | None = None
    epsilon: Fraction = Fraction(0)
    k: int = 0
    equivalent_items: int = 0
    ndcg_error: float = 0.0
    recall: float = 0.0
    recall_error: float = 0.0

    def __post_init__(self) -> None:
        sent = self.mode is ServingMode.QUERY
        if (self.mechanism in MECHANISMS) != sent or (self.mechanism is None) == sent:
            raise OutOfRange("the mechanism of a row", "one where a signal is sent, else none")
        if sent and not (0 < self.epsilon <= 1024 and 1 <= self.k <= 1024):
            raise OutOfRange("the signal of a row", "epsilon and k positive and at most 1024")
        if not sent and any(
            (self.epsilon, self.k, self.equivalent_items, self.gain, self.gain_error)
        ):
            raise OutOfRange(
                "a row without a signal", "without epsilon, k, gain and equivalent items"
            )
        if self.held < 0 or self.equivalent_items < 0 or not 0 <= self.size <= MAX_FILE_BYTES:
            raise OutOfRange("the sizes of a row", "at least 0")
        if not -1 <= self.gain <= 1:
            raise OutOfRange("the gain of a row", "from -1 to 1")
        _check_shares(self.ndcg, self.ndcg_error, self.recall, self.recall_error, self.gain_error)


BaselineName = Literal["popularity", "popular-200", "item-kNN", "EASE"]
BASELINES: tuple[BaselineName, ...] = get_args(BaselineName)


@dataclass(frozen=True)
class Baseline:
    """What a plain recommender gave the same people, in the same measures.

    popularity    everybody gets the items with the most likes
    popular-200   a device ranks the 200 of those by this model
    item-kNN      the nearest items of what a person likes, nothing hidden
    EASE          the linear model of items by items with the best penalty, nothing hidden

    Raises OutOfRange for another name, or figures that cannot be.
    """

    name: BaselineName
    ndcg: float
    ndcg_error: float
    recall: float
    recall_error: float

    def __post_init__(self) -> None:
        if self.name not in BASELINES:
            raise OutOfRange("the name of a baseline", f"one of {', '.join(BASELINES)}")
        _check_shares(self.ndcg, self.ndcg_error, self.recall, self.recall_error)


def _check_shares(*figures: float) -> None:
    if not all(0 <= each <= 1 for each in figures):  # nan neither
        raise OutOfRange("the figures of a row", "from 0 to 1")


@dataclass(frozen=True)
class UtilityTable:
    """The table of a card. proposed: the number of the row that the card proposes. baselines: what
    its rows stand beside.

    Raises OutOfRange for an empty or overlong table, or a proposal that is no row of it.
    """

    rows: tuple[ModeUtility, ...]
    proposed: int
    baselines: tuple[Baseline, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= len(self.rows) <= MAX_ROWS:
            raise OutOfRange("the rows of a utility table", f"1 to {MAX_ROWS}")
        if not 0 <= self.proposed < len(self.rows):
            raise OutOfRange("what a card proposes", "one of its rows")
        names = [each.name for each in self.baselines]
        if len(set(names)) != len(names):
            raise OutOfRange("the baselines of a utility table", "all different")

    @property
    def proposal(self) -> ModeUtility:
        """What the card proposes."""
        return self.rows[self.proposed]

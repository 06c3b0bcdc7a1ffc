"""A prior's release, paid for in the operator's ledger before it is drawn, and drawn once.

The key of the charge names all that decides the release but for the people: the plan, the items
and the vectors in which tastes are expressed, and what makes a profile of ratings (scale, least
likes, seed). The data set's version says whose tastes they are. The same training again gets the
stored release back and pays nothing, so the model comes out the same to the byte; another one is
another release. What is charged holds given the vectors: learned ones are made of the same people,
and no charge covers them.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from askew.randomness import RandomBits
from askew_server.ledger import Charge, ChargeRequest, Ledger
from askew_server.prior.gaussian import Plan
from askew_server.prior.source import Trained


@dataclass(frozen=True, eq=False)
class PaidRelease:
    """Releases of one data set in one ledger."""

    ledger: Ledger
    dataset: str
    bits: RandomBits

    def __call__(self, plan: Plan, trained: Trained) -> bytes:
        """The release of a plan: charged, drawn and stored, or the stored one.

        Raises BudgetExceeded, LedgerError: nothing was drawn. ChargePending: an earlier run paid
        and died before it stored its draw.
        """
        digest = _digest(plan, trained)
        request = ChargeRequest(
            dataset=self.dataset,
            version=self.ledger.dataset(self.dataset).version,
            key=f"prior given item vectors {digest.hex()[:32]}",
            digest=digest,
            loss=plan.loss,
        )
        answer = self.ledger.charge(request)
        if isinstance(answer, Charge):
            answer = self.ledger.fulfill(answer.id, plan.release(trained.tastes, self.bits))
        return answer.payload


def _digest(plan: Plan, trained: Trained) -> bytes:
    """Each part has a fixed length, so that none can pass for another."""
    profiles = repr((trained.keys, trained.space.scale, trained.tastes.least_likes, trained.seed))
    vectors = np.ascontiguousarray(trained.vectors, "<f4").tobytes()
    parts = (plan.digest, sha256(vectors).digest(), sha256(profiles.encode()).digest())
    return sha256(b"".join(parts)).digest()

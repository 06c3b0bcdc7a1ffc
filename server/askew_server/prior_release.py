"""A prior's release, paid for in the operator's ledger before it is drawn, and drawn once.

The key of the charge names the plan and the public factors in which tastes are told; whose tastes,
the data set's version says. The same training again gets the stored release back and pays nothing,
so the model comes out the same to the byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from askew.randomness import RandomBits
from askew_server.gaussian_prior import Plan
from askew_server.ledger import Charge, ChargeRequest, Ledger
from askew_server.prior_source import Trained


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
        digest = sha256(plan.digest + np.ascontiguousarray(trained.vectors, "<f4").tobytes())
        request = ChargeRequest(
            dataset=self.dataset,
            version=self.ledger.dataset(self.dataset).version,
            key=f"prior {digest.hexdigest()[:32]}",
            digest=digest.digest(),
            loss=plan.loss,
        )
        answer = self.ledger.charge(request)
        if isinstance(answer, Charge):
            answer = self.ledger.fulfill(answer.id, plan.release(trained.tastes, self.bits))
        return answer.payload

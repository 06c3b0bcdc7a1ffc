"""The operator's ledger: what was spent on each data set, and what was released for it."""

from askew_server.ledger.ledger import Ledger
from askew_server.ledger.records import AnalystBudget, Charge, ChargeRequest, Dataset, StoredRelease

__all__ = ["AnalystBudget", "Charge", "ChargeRequest", "Dataset", "Ledger", "StoredRelease"]

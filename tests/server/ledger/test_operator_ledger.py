"""The operator's ledger keeps the contract of both ledgers; a dead charge is never drawn again."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import pytest
from ledger_contract import LedgerContract, drawn, silent
from server.ledger.scenes import (
    CAP,
    TERMS,
    UNIT,
    answer,
    budget_of,
    charged,
    epsilon_spent,
    files,
    new_ledger,
    open_ledger,
    releases_of,
    request,
)
from traced import Say

from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.errors import ChargePending, LedgerError, LedgerRefused
from askew_server.ledger import Charge, store


class TestOperatorLedger(LedgerContract):
    module: ClassVar[ModuleType] = store
    commits: ClassVar[int] = 2  # the charge, and its release
    crashes: ClassVar[int] = 2

    def files(self, folder: Path) -> tuple[Path, Path]:
        return files(folder)

    def make(self, folder: Path) -> None:
        new_ledger(folder).close()

    def ask(self, folder: Path, number: int, say: Say = silent) -> int:
        with open_ledger(folder) as ledger:
            made = ledger.charge(request(str(number)))
            if isinstance(made, Charge):
                say(f"paid {number}")
                made = ledger.fulfill(made.id, b"%d" % drawn())
            say(f"published {number} {int(made.payload)}")
            return int(made.payload)

    def published(self, folder: Path) -> dict[int, int]:
        with open_ledger(folder) as ledger:
            return {int(each.request.key): int(each.payload) for each in releases_of(ledger)}

    def charges(self, folder: Path) -> int:
        with open_ledger(folder) as ledger:
            return len(ledger.charges())

    def spent(self, folder: Path) -> Fraction:
        self.make(folder)  # a ledger that was deleted has accepted what its mark knew
        with open_ledger(folder) as ledger:
            return epsilon_spent(ledger)

    def refused(self, folder: Path) -> str | None:
        with open_ledger(folder) as ledger:
            return ledger.refused

    def accept(self, folder: Path) -> None:
        with open_ledger(folder) as ledger:
            ledger.accept()

    def check_words(self, folder: Path, words: list[str]) -> None:
        """Every coin that may have been tossed is paid, and is the only one."""
        paid = {int(each.split()[1]) for each in words if each.startswith("paid")}
        with open_ledger(folder) as ledger:
            assert paid <= {int(each.request.key) for each in ledger.charges()}
            for number in paid - self.published(folder).keys():
                with pytest.raises(ChargePending):
                    ledger.charge(request(str(number)))


def test_analysts_start_again_where_answers_may_be_lost(tmp_path: Path) -> None:
    """Their answers are known, and the ledger does not count them. Planted bug: budgets go on."""
    path, _ = files(tmp_path)
    with new_ledger(tmp_path) as ledger:
        ledger.grant("plays", "ann", TERMS)
    copy = path.read_bytes()
    with open_ledger(tmp_path) as ledger:
        lost = charged(ledger, answer("q1", 5)).id
    path.write_bytes(copy)
    with open_ledger(tmp_path) as ledger:
        ledger.accept()
        assert budget_of(ledger, "ann").closed
        with pytest.raises(LedgerError, match="no budget"):
            ledger.charge(answer("q1", 1))
        spent = epsilon_spent(ledger)
        ledger.grant("plays", "ann", TERMS)
        assert epsilon_spent(ledger) == spent + TERMS.total_loss().epsilon
        assert charged(ledger, answer("q2", 1)).id > lost  # a release is known by its number


def test_each_data_set_has_spent_the_larger_of_what_ledger_and_mark_say(tmp_path: Path) -> None:
    path, mark = files(tmp_path)
    with new_ledger(tmp_path) as ledger:
        ledger.open_dataset("films", "1", CAP, UNIT, ADD_OR_REMOVE_ONE)
    ledger_before = path.read_bytes()
    with open_ledger(tmp_path) as ledger:
        charged(ledger, request("monday"))
    mark_then = mark.read_bytes()
    path.write_bytes(ledger_before)
    mark.unlink()
    with open_ledger(tmp_path) as ledger:
        ledger.accept()
        charged(ledger, replace(request("tuesday"), dataset="films"))
    mark.write_bytes(mark_then)
    with open_ledger(tmp_path) as ledger:
        ledger.accept()
        assert [each.spent.epsilon for each in ledger.datasets()] == [1, 1]


def test_a_copy_put_back_under_an_open_ledger_is_noticed(tmp_path: Path) -> None:
    """Planted bug: a mark that is remembered and not read."""
    _, mark = files(tmp_path)
    with new_ledger(tmp_path) as ledger:
        charged(ledger, request("a"))
        old = mark.read_bytes()
        charged(ledger, request("b"))
        charged(ledger, request("c"))
        mark.write_bytes(old)
        with pytest.raises(LedgerRefused, match="name different last entries"):
            ledger.charge(request("d"))
        mark.unlink()
        with pytest.raises(LedgerRefused, match="mark is missing"):
            ledger.charge(request("d"))

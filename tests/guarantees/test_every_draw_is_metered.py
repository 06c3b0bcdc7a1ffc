"""An entropy meter: what each production draw reads from the kernel, and that nothing else decides.

The meter counts every byte that the kernel's source gives, by whatever door of Python it is asked.
Played back, the same bytes must make the same draw: so no second source had a part in it. Each draw
reads its own bytes, all of them, and leaves none: so there is no pool, buffer or cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from math import ceil, log2
from pathlib import Path

import numpy as np
import pytest
from guarantees.audit.audited import MECHANISMS
from metered import Draw, Failing, metered, played, source

from askew.dp.composition import PrivacyFilter
from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.dp.release import PRIVACY_UNIT
from askew.errors import ChargePending, NoRandomness
from askew.mechanisms import LimitedDomain
from askew.mechanisms.covariance import NoisyCovariance
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import SystemBits
from askew_client.settings.settings import LEVELS, ClientSettings
from askew_server.counting.contract import LikesTask
from askew_server.ledger import Ledger
from askew_server.taste.paid_matrix import MatrixPlan, make_matrix

DRAWS = 40
COIN = 16  # bytes of a coin
DEFAULT = ClientSettings()
TASTE = LatticeLaplace.for_epsilon(DEFAULT.epsilon_per_rating)
PLACE = HexagonalLattice.for_epsilon(LEVELS[DEFAULT.level])
MATRIX = NoisyCovariance(Fraction(1), Fraction(1, 10**6))
ZEROS = np.zeros((6, 6), np.int64)


def coins_of(lattice: LatticeLaplace | HexagonalLattice) -> int:
    """Of one draw of a geometric law: enough digits for all but 2**-128, and one for beyond."""
    ratio = lattice.inverse_rate / (lattice.inverse_rate + 1)
    return ceil(log2(128 / -log2(ratio))) + 1


FIXED: dict[str, tuple[Draw, int]] = {
    # rounding, and two geometric draws, of each coordinate
    "a taste of 4 coordinates": (
        lambda: TASTE.perturb((0.1, 0.7, 0.5, 0.0), SystemBits()),
        4 * COIN * (1 + 2 * coins_of(TASTE)),
    ),
    "a value on a line": (
        lambda: TASTE.perturb((Fraction(1, 3),), SystemBits()),
        COIN * (1 + 2 * coins_of(TASTE)),
    ),
    # rounding by two coins, the sector by four, two geometric draws
    "a place": (
        lambda: PLACE.perturb((Fraction(10), Fraction(7, 3)), SystemBits()),
        COIN * (2 + 4 + 2 * coins_of(PLACE)),
    ),
}


@pytest.mark.parametrize("name", FIXED)
def test_a_signal_reads_the_declared_number_of_bytes_every_time(name: str) -> None:
    """Planted bugs: a pool; noise of a generator that is seeded once; half of the digits."""
    draw, declared = FIXED[name]
    seen = set[bytes]()
    for _ in range(DRAWS):
        made, read = metered(draw)
        assert sum(map(len, read)) == declared
        assert played(draw, read) == made
        seen.add(b"".join(read))
    assert len(seen) == DRAWS


@pytest.mark.thin
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_selection_reads_at_least_what_its_law_needs(name: str) -> None:
    """Which is the entropy of the definition's law; and the bytes read decide all of it.

    Planted bugs: weights or noise kept from the draw before; a tie that is broken by a generator.
    """
    built, counts = MECHANISMS[name], (2, 2, 1, 0, 0)
    mechanism = built.build(k=2, epsilon=2, neighbors=ADD_OR_REMOVE_ONE)
    law = built.definition(2, Fraction(2), ADD_OR_REMOVE_ONE)(counts)
    needed = sum(-float(p) * log2(p) for p in law.values() if p)

    def draw() -> tuple[int, ...]:
        return mechanism.select(list(counts), bits=SystemBits())

    firsts = set[bytes]()
    for _ in range(DRAWS):
        made, read = metered(draw)
        assert len(read[0]) >= 8
        assert 8 * sum(map(len, read)) >= needed
        assert played(draw, read) == made
        firsts.add(read[0])
    assert len(firsts) == DRAWS


def test_a_limited_domain_is_decided_by_what_it_reads() -> None:
    """Its threshold is noisy, too."""
    mechanism = LimitedDomain(
        k=1, kbar=2, epsilon=1, delta=Fraction(1, 20), neighbors=ADD_OR_REMOVE_ONE
    )

    def draw() -> str:
        return str(mechanism.select([9, 8, 7], bits=SystemBits()))

    for _ in range(DRAWS):
        made, read = metered(draw)
        assert len(read[0]) >= 8
        assert played(draw, read) == made


def test_a_noisy_matrix_reads_24_bytes_for_every_number_tried() -> None:
    def draw() -> bytes:
        return MATRIX.perturb(ZEROS, bits=SystemBits()).tobytes()

    for _ in range(DRAWS):
        made, read = metered(draw)
        assert {len(part) % 24 for part in read} == {0}
        assert sum(map(len, read)) >= 24 * (6 + 5 + 4 + 3 + 2 + 1)
        assert played(draw, read) == made


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.sqlite", tmp_path / "mark") as opened:
        cap = PrivacyFilter(epsilon=Fraction(2), delta=Fraction(1, 10**5))
        opened.open_dataset("films", "1", cap, PRIVACY_UNIT, ADD_OR_REMOVE_ONE)
        yield opened


def test_a_source_that_fails_leaves_a_release_paid_and_never_drawn(
    ledger: Ledger, tmp_path: Path
) -> None:
    """Pay before the coin: an operator's charge stays, and no second draw is made for it."""
    file = tmp_path / "matrix"
    task = LikesTask(events="r.csv", keys=("a", "b"), rating_column="rating", least=4, most=5)
    plan = MatrixPlan("films", "1", task, MATRIX)
    request = plan.charge_request()
    paid = partial(make_matrix, ledger=ledger, count=lambda _: ZEROS[:2, :2], bits=SystemBits())
    make = partial(paid, plan, request, file)
    with source(Failing(1)), pytest.raises(NoRandomness, match="nothing more was drawn"):
        make()  # the first read is the charge's id
    assert ledger.dataset("films").spent.epsilon == 1
    assert not file.exists()
    with pytest.raises(ChargePending):
        make()


FORKED = """
import os
from fractions import Fraction
import numpy as np
from askew.mechanisms.covariance import NoisyCovariance
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import SystemBits
bits = SystemBits()
taste, place = LatticeLaplace.for_epsilon(Fraction(1)), HexagonalLattice.for_epsilon(Fraction(1))
matrix, zeros = NoisyCovariance(Fraction(1), Fraction(1, 10**6)), np.zeros((6, 6), np.int64)

def draws():
    made = [
        [place.perturb((Fraction(0), Fraction(0)), bits) for _ in range(64)],
        [taste.perturb((0.0,) * 8, bits) for _ in range(8)],
        matrix.perturb(zeros, bits=bits).tolist(),
    ]
    return list(map(repr, made))

draws()  # what a pool would begin with
told = []
for child in range(2):
    ours, theirs = os.pipe()
    if os.fork() == 0:
        os.write(theirs, "/".join(draws()).encode())
        os._exit(0)
    os.close(theirs)
    with open(ours) as file:
        told.append(file.read().split("/"))
told.append(draws())
print([len(set(each)) for each in zip(*told, strict=True)])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_parent_and_its_forks_draw_different_signals() -> None:
    """Of every kind, with all that draws warm. That two agree by chance is rarer than 2**-100.

    Planted bug: a pool of the process, which each fork would begin with.
    """
    run = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=120, check=True
    )
    assert run.stdout == "[3, 3, 3]\n"

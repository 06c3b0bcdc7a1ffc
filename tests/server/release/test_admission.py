"""Tokens that were taken back, and callers that come too often, get no further."""

from __future__ import annotations

from pathlib import Path

import pytest

from askew.errors import AccessError, ParameterError, TooOften, Unauthenticated
from askew_server.serving.bearer import Bearer, RateLimit, Revocations


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_empties_and_fills_at_its_rate() -> None:
    """Six a minute: one in ten seconds. Planted bugs: a bucket that fills at once, or beyond it."""
    clock = Clock()
    rate = RateLimit(6, clock)
    for wait, allowed in ((0, 6), (9.5, 0), (1, 1), (20, 2), (600, 6)):
        clock.now += wait
        for _ in range(allowed):
            rate.check("ada")
        with pytest.raises(TooOften):
            rate.check("ada")


def test_everybody_has_a_bucket_of_their_own() -> None:
    rate = RateLimit(1, Clock())
    for name in ("ada", "bob"):
        rate.check(name)
        with pytest.raises(TooOften):
            rate.check(name)


def test_a_rate_of_nothing_is_refused() -> None:
    with pytest.raises(ParameterError):
        RateLimit(0, Clock())


@pytest.fixture
def revocations(tmp_path: Path) -> Revocations:
    return Revocations(tmp_path / "key.revoked")


def test_tokens_issued_until_then_are_void_and_later_ones_are_good(
    revocations: Revocations,
) -> None:
    """Planted bug: the last line of a principal in place of the latest."""
    assert revocations.check(Bearer("ada", 100)) == "ada"
    revocations.add("ada", now=100.7)
    revocations.add("ada", now=90.0)
    revocations.add("a name of three words", now=500.0)
    for issued, good in ((99, False), (100, False), (101, True)):
        if good:
            assert revocations.check(Bearer("ada", issued)) == "ada"
        else:
            with pytest.raises(Unauthenticated):
                revocations.check(Bearer("ada", issued))
    assert revocations.check(Bearer("bob", 1)) == "bob"


def test_a_list_of_revocations_is_for_its_owner_to_write(
    revocations: Revocations, tmp_path: Path
) -> None:
    revocations.add("ada", now=100.0)
    assert (tmp_path / "key.revoked").stat().st_mode & 0o777 == 0o600
    (tmp_path / "key.revoked").chmod(0o622)
    with pytest.raises(AccessError, match="only its owner"):
        revocations.check(Bearer("bob", 1))


@pytest.mark.parametrize("content", ["ada\n", "soon ada\n", "100 \n", "100 a\x07b\n", "\n"])
def test_a_damaged_list_lets_nobody_in(
    revocations: Revocations, tmp_path: Path, content: str
) -> None:
    """Planted bug: a line that cannot be read is skipped."""
    (tmp_path / "key.revoked").write_text(content)
    (tmp_path / "key.revoked").chmod(0o600)
    with pytest.raises(AccessError):
        revocations.check(Bearer("bob", 1))
    with pytest.raises(AccessError):
        revocations.add("ada", now=1.0)

"""Who asks is who the operator vouched for, for a short while, and nobody else."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt
import pytest

from askew.errors import AccessError, ParameterError, Refused, TooOften, Unauthenticated
from askew_server.serving.bearer import (
    AUDIENCE,
    Bearer,
    BearerKey,
    RateLimit,
    Revocations,
    create_key,
    read_key,
)

SECRET = bytes(range(32))
KEY = BearerKey(SECRET)
Claims = dict[str, Any]


def now() -> int:
    return int(time.time())


def token(claims: Claims, secret: bytes = SECRET, algorithm: str = "HS256") -> str:
    fair = {"sub": "ada", "aud": AUDIENCE, "iat": now(), "exp": now() + 600, "renewable": 0}
    merged = {name: value for name, value in (fair | claims).items() if value is not None}
    return "Bearer " + jwt.encode(merged, secret, algorithm=algorithm)


def test_a_minted_token_names_its_principal() -> None:
    assert KEY.verified("Bearer " + KEY.mint("ada", minutes=15, now=time.time())).principal == "ada"


def test_the_forger_of_these_tests_can_make_a_fair_one() -> None:
    """Or every refusal below could have another reason."""
    assert KEY.verified(token({})).principal == "ada"


FORGERIES: dict[str, Callable[[], str]] = {
    "nothing": lambda: "",
    "no scheme": lambda: token({}).removeprefix("Bearer "),
    "another scheme": lambda: token({}).replace("Bearer", "Basic"),
    "no token": lambda: "Bearer ",
    "text that is no token": lambda: "Bearer ada",
    "another key": lambda: token({}, bytes(32)),
    "no signature": lambda: "Bearer " + jwt.encode({"sub": "ada"}, "", algorithm="none"),
    "an algorithm of its own": lambda: token({}, SECRET * 2, "HS512"),
    "expired": lambda: token({"iat": now() - 700, "exp": now() - 100}),
    "not yet": lambda: token({"iat": now() + 600, "exp": now() + 900}),
    "another audience": lambda: token({"aud": "askew-operator"}),
    "several audiences": lambda: token({"aud": [AUDIENCE, "other"]}),
    "no audience": lambda: token({"aud": None}),
    "no expiry": lambda: token({"exp": None}),
    "no issue date": lambda: token({"iat": None}),
    "no principal": lambda: token({"sub": None}),
    "an empty principal": lambda: token({"sub": ""}),
    "a principal that is no text": lambda: token({"sub": 7}),
    "a life of a day": lambda: token({"exp": now() + 86_400}),
    "a signature cut short": lambda: token({})[:-4],
    "no word on renewals": lambda: token({"renewable": None}),
    "renewals for a year": lambda: token({"renewable": now() + 365 * 86_400}),
    "renewals that are no number": lambda: token({"renewable": [1]}),
    "far too long": lambda: token({"sub": "a" * 5000}),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_or_stale_token_names_nobody(forgery: str) -> None:
    with pytest.raises(Unauthenticated) as refusal:
        KEY.verified(FORGERIES[forgery]())
    assert str(refusal.value) == "valid credentials are needed"
    assert refusal.value.why == ("expired" if forgery == "expired" else "garbage")


def test_a_token_is_renewed_until_the_time_that_the_operator_gave() -> None:
    """With the same life, and no longer. Planted bug: a renewal that counts from the last one, so
    that a stolen token is good for ever.
    """
    began = time.time()
    bearer = KEY.verified("Bearer " + KEY.mint("ada", minutes=5, now=began, hours=1))
    later = KEY.renewed(bearer, began + 240)
    claims = jwt.decode(later, options={"verify_signature": False})
    assert claims["exp"] - claims["iat"] == 300
    assert (claims["sub"], claims["iat"]) == ("ada", int(began + 240))
    assert claims["renewable"] == bearer.renewable == int(began) + 3600
    with pytest.raises(Refused, match="ask the operator for another"):
        KEY.renewed(bearer, began + 3601)


def test_a_token_is_not_renewed_without_the_operators_word() -> None:
    bearer = KEY.verified("Bearer " + KEY.mint("ada", minutes=5, now=time.time()))
    with pytest.raises(Refused):
        KEY.renewed(bearer, time.time())
    for hours in (-1, 169):
        with pytest.raises(ParameterError, match="renewable hours"):
            KEY.mint("ada", minutes=5, now=time.time(), hours=hours)


@pytest.mark.parametrize("principal", ["", "a\nb", "x" * 201])
def test_a_principal_without_a_plain_name_gets_no_token(principal: str) -> None:
    with pytest.raises(ParameterError):
        KEY.mint(principal, minutes=15, now=time.time())


@pytest.mark.parametrize("minutes", [0, -1, 61])
def test_a_token_lives_an_hour_at_most(minutes: int) -> None:
    with pytest.raises(ParameterError):
        KEY.mint("ada", minutes=minutes, now=time.time())


def test_a_key_is_made_for_its_owner_alone_and_never_over_another(tmp_path: Path) -> None:
    path = tmp_path / "key"
    create_key(path)
    assert (path.stat().st_mode & 0o777, len(path.read_bytes())) == (0o600, 32)
    before = path.read_bytes()
    with pytest.raises(AccessError):
        create_key(path)
    assert path.read_bytes() == before


def test_two_keys_differ(tmp_path: Path) -> None:
    create_key(tmp_path / "one")
    create_key(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() != (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    create_key(path)
    path.chmod(mode)
    with pytest.raises(AccessError, match="0600"):
        read_key(path)


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_key_of_another_length_is_refused(tmp_path: Path, size: int) -> None:
    path = tmp_path / "key"
    path.touch(mode=0o600)
    path.write_bytes(bytes(size))
    with pytest.raises(AccessError, match="32"):
        read_key(path)


def test_a_pipe_is_no_key(tmp_path: Path) -> None:
    """Planted bug: opening it first, which waits for ever."""
    os.mkfifo(tmp_path / "key", 0o600)
    with pytest.raises(AccessError):
        read_key(tmp_path / "key")


def test_a_key_is_never_printed() -> None:
    assert repr(SECRET) not in repr(KEY)
    assert SECRET.hex() not in repr(KEY)


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

"""Who asks is who the operator vouched for, until it is taken back, and nobody else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from askew.errors import AccessError, ParameterError, Unauthenticated
from askew.noise.randomness import SystemBits
from askew_server.serving.tokens import Tokens, add_token, remove_tokens

BITS = SystemBits()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens"


def test_the_file_is_for_its_owner_and_lets_nobody_ask(path: Path) -> None:
    token = add_token(path, "a name of three words", BITS)
    assert len(token) == 43  # 256 bits
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text()
    assert token not in text
    assert token.encode().hex()[:40] not in text
    tokens = Tokens(path, lambda: None)
    assert tokens.find(f"Bearer {token}") == "a name of three words"
    for word in text.split():
        with pytest.raises(Unauthenticated):
            tokens.find(f"Bearer {word}")


FALSE: list[Callable[[str], str]] = [
    lambda _: "",
    lambda token: f"Basic {token}",
    lambda token: f"Bearer {token[:-1]}",
    lambda token: f"Bearer {token}A",
    lambda token: f"Bearer {token} ",
    lambda _: "Bearer é\ud800".encode("utf-8", "replace").decode(),
]


def test_a_false_token_names_nobody(path: Path) -> None:
    refused: list[None] = []
    token = add_token(path, "ada", BITS)
    tokens = Tokens(path, lambda: refused.append(None))
    for false in FALSE:
        with pytest.raises(Unauthenticated, match=r"^valid credentials are needed$"):
            tokens.find(false(token))
    assert len(refused) == len(FALSE)


def test_a_service_that_runs_sees_what_changed(path: Path) -> None:
    """Planted bugs: a file that is read once; one principal's tokens taken back with another's."""
    first, other = add_token(path, "ada", BITS), add_token(path, "bob", BITS)
    tokens = Tokens(path, lambda: None)
    second = add_token(path, "ada", BITS)
    assert {tokens.find(f"Bearer {token}") for token in (first, second)} == {"ada"}
    assert remove_tokens(path, "ada") == 2
    for token in (first, second):
        with pytest.raises(Unauthenticated):
            tokens.find(f"Bearer {token}")
    assert tokens.find(f"Bearer {other}") == "bob"
    assert remove_tokens(path, "ada") == 0


def test_a_principal_without_a_plain_name_gets_no_token(path: Path) -> None:
    for principal in ("", "a\nb", "x" * 201):
        with pytest.raises(ParameterError):
            add_token(path, principal, BITS)
    assert not path.exists()


@pytest.mark.parametrize(
    "content", [b"ada\n", b"00 ada\n", b"f" * 64 + b"\n", b"\n", b"\xff\n", b"F" * 64 + b" ada\n"]
)
def test_a_damaged_file_lets_nobody_in_and_is_not_written(path: Path, content: bytes) -> None:
    token = add_token(path, "bob", BITS)
    tokens = Tokens(path, lambda: None)
    damaged = path.read_bytes() + content
    path.write_bytes(damaged)
    for use in (
        lambda: tokens.find(f"Bearer {token}"),
        lambda: Tokens(path, lambda: None),
        lambda: add_token(path, "ada", BITS),
        lambda: remove_tokens(path, "bob"),
    ):
        with pytest.raises(AccessError):
            use()
    assert path.read_bytes() == damaged


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o640, 0o604])
def test_a_file_that_others_can_open_or_that_is_gone_lets_nobody_in(path: Path, mode: int) -> None:
    """Planted bug: what was read before goes on."""
    token = add_token(path, "bob", BITS)
    tokens = Tokens(path, lambda: None)
    path.chmod(mode)
    with pytest.raises(AccessError, match="mode 0600"):
        tokens.find(f"Bearer {token}")
    path.unlink()
    with pytest.raises(AccessError):
        tokens.find(f"Bearer {token}")

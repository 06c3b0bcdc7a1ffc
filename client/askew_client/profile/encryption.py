"""Encryption of the profile at rest: AES-256-GCM, its key from a passphrase or the system keyring.

The passphrase becomes a key by scrypt (RFC 7914) with 128 MiB, half a second on a laptop; the
keyring holds a random key. A fresh random nonce seals every write, and what is sealed is padded, so
that the size of the file says little about the number of ratings. Neither a key nor a passphrase is
ever an argument of a process, in its environment or in a message.
"""

from __future__ import annotations

import binascii
import unicodedata
from dataclasses import dataclass, field
from typing import Literal, get_args

from askew.errors import VaultError
from askew.noise.randomness import RandomBits

Lock = Literal["none", "passphrase", "keyring"]
LEAST_PASSPHRASE = 8
SCRYPT_N = 2**17  # with r = 8: 128 MiB
_SERVICE = "askew"
_MARK = b"askew profile 1"
_LEAST_SIZE = 4096
_WRONG = "the passphrase is wrong, or the profile was altered; nothing was changed"


@dataclass(frozen=True)
class Sealed:
    """A document as it is stored. salt names the key: scrypt's salt, or the keyring's entry."""

    lock: Lock
    salt: bytes
    nonce: bytes
    body: bytes = field(repr=False)


@dataclass(frozen=True)
class Key:
    """One way to seal a document and to open it again; the secret does not print."""

    lock: Lock
    salt: bytes
    secret: bytes = field(repr=False)

    def seal(self, document: bytes, bits: RandomBits) -> Sealed:
        """The document, padded and encrypted, or as it is without a lock."""
        if self.lock == "none":
            return Sealed("none", b"", b"", document)
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = bits.read(12)
        size = max(_LEAST_SIZE, 1 << (len(document) - 1).bit_length())
        body = AESGCM(self.secret).encrypt(nonce, document.ljust(size), self._bound())
        return Sealed(self.lock, self.salt, nonce, body)

    def open(self, sealed: Sealed) -> bytes:
        """What was sealed. Raises VaultError for another key, or for altered bytes."""
        if self.lock == "none":
            return sealed.body
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            return AESGCM(self.secret).decrypt(sealed.nonce, sealed.body, self._bound())
        except (InvalidTag, ValueError):  # ValueError: a nonce of a size that nobody uses
            raise VaultError(_WRONG) from None

    def _bound(self) -> bytes:
        """What is not secret, and still must not be replaced."""
        return b"|".join((_MARK, self.lock.encode(), self.salt))


NO_KEY = Key("none", b"", b"")


def lock_of(text: str) -> Lock:
    """The lock that a stored word names. Raises VaultError."""
    for lock in get_args(Lock):
        if text == lock:
            return lock  # type: ignore[no-any-return]  # get_args is not typed
    raise VaultError("the profile has a lock that this program does not know")


def new_passphrase_key(passphrase: str, bits: RandomBits) -> Key:
    """A key for a new passphrase. Raises VaultError for one that is short."""
    if len(passphrase) < LEAST_PASSPHRASE:
        raise VaultError(f"a passphrase needs at least {LEAST_PASSPHRASE} characters")
    return passphrase_key(passphrase, bits.read(16))


def passphrase_key(passphrase: str, salt: bytes) -> Key:
    """The key of a passphrase and a salt. Raises VaultError without the library."""
    try:
        from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
    except ImportError:
        raise VaultError("encryption needs the extra askew[vault]") from None
    words = unicodedata.normalize("NFKC", passphrase).encode()
    return Key("passphrase", salt, Scrypt(salt=salt, length=32, n=SCRYPT_N, r=8, p=1).derive(words))


def new_keyring_key(bits: RandomBits) -> Key:
    """A random key, kept in the system's keyring. Raises VaultError where there is none."""
    salt, secret = bits.read(16), bits.read(32)
    _with_keyring("set_password", _SERVICE, salt.hex(), secret.hex())
    if keyring_key(salt).secret != secret:
        raise VaultError("the system keyring does not keep what it is given; use a passphrase")
    return Key("keyring", salt, secret)


def keyring_key(salt: bytes) -> Key:
    """The key that the system's keyring has under this name. Raises VaultError."""
    text = _with_keyring("get_password", _SERVICE, salt.hex())
    try:
        secret = binascii.unhexlify(text or "")
    except binascii.Error:
        secret = b""
    if len(secret) != 32:
        raise VaultError("the system keyring does not have this profile's key")
    return Key("keyring", salt, secret)


def forget_keyring_key(salt: bytes) -> None:
    """Delete a key for good. Raises VaultError where the keyring does not have it."""
    _with_keyring("delete_password", _SERVICE, salt.hex())


def keyring_name() -> str | None:
    """The system's keyring, or None where there is none that keeps anything."""
    try:
        import keyring
        from keyring.backends import fail, null
    except ImportError:
        return None
    backend = keyring.get_keyring()
    return None if isinstance(backend, fail.Keyring | null.Keyring) else backend.name


def _with_keyring(verb: str, *words: str) -> str | None:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        raise VaultError("a keyring needs the extra askew[vault]; use a passphrase") from None
    try:
        result: str | None = getattr(keyring, verb)(*words)
    except (KeyringError, RuntimeError):  # its own words may hold the name of the entry
        raise VaultError("there is no usable system keyring here; use a passphrase") from None
    return result

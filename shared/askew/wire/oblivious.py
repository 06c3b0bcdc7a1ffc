"""Oblivious HTTP: a request sealed to a server's key, which a relay passes on and cannot open.

A relay sees an address, the identifier of a key, and sizes; the server sees the relay's address and
the request. So requests and replies are padded with zeros to public sizes. Formats: RFC 9458
(encapsulation), RFC 9292 (HTTP in binary, of known length), and RFC 9180 (HPKE), which `pyhpke`
does. One suite is spoken: X25519, HKDF-SHA256, AES-128-GCM.

Nothing here tells the server who asks, but a key would that it gave to one device alone. So a
device has its key from where everybody has it, and never from the server as it asks.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pyhpke import (
    AEADId,
    CipherSuite,
    ContextInterface,
    KDFId,
    KEMId,
    KEMKey,
    KEMKeyInterface,
    KEMKeyPair,
    PyHPKEError,
)

# Where both are missing, the import above says which extra brings them.
# isort: split
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from askew.errors import Malformed, NotFound, ParameterError
from askew.noise.randomness import RandomBits

_KEM, _KDF, _AEAD = 0x0020, 0x0001, 0x0001
_SUITE = CipherSuite.new(KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId.AES128_GCM)
_ALGORITHMS = b"".join(number.to_bytes(2, "big") for number in (_KEM, _KDF, _AEAD))
_REQUEST_LABEL, _RESPONSE_LABEL = b"message/bhttp request", b"message/bhttp response"
_KEY_BYTES, _SECRET_BYTES, _TAG_BYTES, _NONCE_BYTES = 32, 16, 16, 12
_HEADER_BYTES = 7  # key identifier, KEM, KDF, AEAD
_MOST_FIELDS = 32
MOST_BYTES = 1 << 21
"""The most that a sealed reply may take."""

Fields = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True)
class PlainRequest:
    """A request in HTTP. Nothing of it is shown by `repr`, nor of a reply."""

    method: bytes = field(repr=False)
    path: bytes = field(repr=False)
    authority: bytes = b""
    fields: Fields = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)

    def to_bytes(self) -> bytes:
        """In binary, RFC 9292."""
        control = (self.method, b"https", self.authority, self.path)
        return b"\0" + b"".join(map(_counted, control)) + _rest(self.fields, self.body)

    @classmethod
    def from_bytes(cls, data: bytes) -> PlainRequest:
        """Raises Malformed."""
        reader = _Reader(data)
        if reader.number() != 0:
            raise Malformed("a sealed request is binary HTTP of known length")
        method, _, authority, path = (reader.counted() for _ in range(4))
        fields, body = reader.rest()
        return cls(method, path, authority, fields, body)


@dataclass(frozen=True)
class PlainReply:
    """A reply in HTTP."""

    status: int
    fields: Fields = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)

    def to_bytes(self) -> bytes:
        """In binary, RFC 9292."""
        return b"\1" + _number(self.status) + _rest(self.fields, self.body)

    @classmethod
    def from_bytes(cls, data: bytes) -> PlainReply:
        """Raises Malformed. Replies of information before the final one are refused."""
        reader = _Reader(data)
        if reader.number() != 1:
            raise Malformed("a sealed reply is binary HTTP of known length")
        status = reader.number()
        if not 200 <= status < 600:
            raise Malformed("a sealed reply has a final status")
        fields, body = reader.rest()
        return cls(status, fields, body)


def request_size(length: int) -> int:
    """What a sealed request takes on the way, whose plain bytes are so many: 224, 448, 896, ..."""
    size, least = 224, _HEADER_BYTES + _KEY_BYTES + length + _TAG_BYTES
    while size < least:
        size *= 2
    return size


def reply_size(length: int) -> int:
    """The same of a reply: 2,048, 8,192, and then multiples of 32,768."""
    least = _SECRET_BYTES + length + _TAG_BYTES
    return next((size for size in (2048, 8192) if size >= least), -(-least // 32_768) * 32_768)


@dataclass(frozen=True)
class KeyConfiguration:
    """A server's public key, and its identifier, a byte."""

    identifier: int
    public: bytes

    def to_bytes(self) -> bytes:
        """As RFC 9458 has it, with our one suite."""
        suites = (4).to_bytes(2, "big") + _ALGORITHMS[2:]
        return bytes([self.identifier]) + _ALGORITHMS[:2] + self.public + suites

    @classmethod
    def first_of(cls, data: bytes) -> KeyConfiguration:
        """The first of a list, application/ohttp-keys, that speaks our suite. Raises
        ParameterError where none does.
        """
        while len(data) > 2:
            size = int.from_bytes(data[:2], "big")
            each, data = data[2 : 2 + size], data[2 + size :]
            suites = each[5 + _KEY_BYTES :]
            pairs = [suites[at : at + 4] for at in range(0, len(suites), 4)]
            whole = len(each) == size and int.from_bytes(each[3 + _KEY_BYTES :][:2], "big")
            if whole == len(suites) and each[1:3] == _ALGORITHMS[:2] and _ALGORITHMS[2:] in pairs:
                return cls(each[0], each[3 : 3 + _KEY_BYTES])
        limit = "a list of key configurations, one of them with X25519 and AES-128-GCM"
        raise ParameterError("relay", "its key", limit)

    def sealed(self, request: PlainRequest, bits: RandomBits) -> SealedRequest:
        """A request that the key's owner alone can open, of public size. bits: 32 bytes, the
        ephemeral key. Raises Malformed for a key that is no use.
        """
        plain = request.to_bytes()
        around = _HEADER_BYTES + _KEY_BYTES + _TAG_BYTES
        return self.sealed_bytes(
            plain.ljust(request_size(len(plain)) - around, b"\0"), bits.read(_KEY_BYTES)
        )

    def sealed_bytes(self, plain: bytes, ephemeral: bytes) -> SealedRequest:
        """Bytes as they are. ephemeral: a private key of X25519, for this request alone."""
        header = bytes([self.identifier]) + _ALGORITHMS
        try:
            own = _SUITE.kem.deserialize_private_key(ephemeral)
            pair = KEMKeyPair(own, KEMKey.from_pyca_cryptography_key(own.raw.public_key()))
            owner = _SUITE.kem.deserialize_public_key(self.public)
            share, context = _SUITE.create_sender_context(
                owner, _REQUEST_LABEL + b"\0" + header, eks=pair
            )
            return SealedRequest(header + share + context.seal(plain), _Secret.of(context, share))
        except (PyHPKEError, ValueError):
            raise Malformed("the server's key, of the relay's setting, is no use") from None


@dataclass(frozen=True)
class _Secret:
    """What both sides of a request know, for its reply."""

    value: bytes = field(repr=False)
    share: bytes = field(repr=False)

    @classmethod
    def of(cls, context: ContextInterface, share: bytes) -> _Secret:
        return cls(context.export(_RESPONSE_LABEL, _SECRET_BYTES), share)

    def key(self, nonce: bytes) -> tuple[AESGCM, bytes]:
        """The reply's cipher and nonce, of section 4.4 of RFC 9458."""
        known = hmac.digest(self.share + nonce, self.value, hashlib.sha256)
        key, iv = (
            hmac.digest(known, label + b"\1", hashlib.sha256) for label in (b"key", b"nonce")
        )
        return AESGCM(key[:_SECRET_BYTES]), iv[:_NONCE_BYTES]


@dataclass(frozen=True)
class SealedRequest:
    """What is sent to a relay, and what opens its reply."""

    data: bytes
    _secret: _Secret = field(repr=False)

    def opened(self, sealed: bytes) -> PlainReply:
        """The reply to this request. Raises Malformed for what its server did not seal."""
        return PlainReply.from_bytes(self.opened_bytes(sealed))

    def opened_bytes(self, sealed: bytes) -> bytes:
        """The same in binary."""
        cipher, iv = self._secret.key(sealed[:_SECRET_BYTES])
        try:
            return cipher.decrypt(iv, sealed[_SECRET_BYTES:], None)
        except (InvalidTag, ValueError):
            raise Malformed("what the relay brings was not sealed by the server's key") from None


@dataclass(frozen=True)
class OpenedRequest:
    """What came by a relay, and what seals its reply."""

    data: bytes = field(repr=False)
    _secret: _Secret = field(repr=False)

    @property
    def request(self) -> PlainRequest:
        """Raises Malformed."""
        return PlainRequest.from_bytes(self.data)

    def sealed(self, reply: PlainReply, bits: RandomBits) -> bytes:
        """A reply that who asked alone can open, of public size. bits: 16 bytes, its nonce."""
        plain = reply.to_bytes()
        around = _SECRET_BYTES + _TAG_BYTES
        return self.sealed_bytes(
            plain.ljust(reply_size(len(plain)) - around, b"\0"), bits.read(_SECRET_BYTES)
        )

    def sealed_bytes(self, plain: bytes, nonce: bytes) -> bytes:
        """Bytes as they are. nonce: for this reply alone."""
        cipher, iv = self._secret.key(nonce)
        return nonce + cipher.encrypt(iv, plain, None)


class GatewayKeys:
    """A server's private keys of X25519, the first of them current: 32 bytes each."""

    def __init__(self, private: Sequence[bytes]) -> None:
        """Raises ParameterError for none, or for two of one identifier."""
        self._keys = dict[int, KEMKeyInterface]()
        self.configurations = b""
        for each in private:
            key = _SUITE.kem.deserialize_private_key(each)
            public = key.raw.public_key().public_bytes_raw()
            found = KeyConfiguration(hashlib.sha256(public).digest()[0], public)
            if found.identifier in self._keys:
                raise ParameterError("ohttp_key", "two keys", "of two identifiers: make another")
            self._keys[found.identifier] = key
            data = found.to_bytes()
            self.configurations += len(data).to_bytes(2, "big") + data
        if not self._keys:
            raise ParameterError("ohttp_key", "none", "at least one private key of X25519")

    def opened(self, data: bytes) -> OpenedRequest:
        """A request that came sealed. Raises NotFound for a key that is not here, and Malformed."""
        header, share = data[:_HEADER_BYTES], data[_HEADER_BYTES:][:_KEY_BYTES]
        if header[1:] != _ALGORITHMS or len(share) != _KEY_BYTES:
            raise Malformed("not a sealed request, or of another suite")
        key = self._keys.get(header[0])
        if key is None:
            raise NotFound("key")
        try:
            context = _SUITE.create_recipient_context(share, key, _REQUEST_LABEL + b"\0" + header)
            plain = context.open(data[_HEADER_BYTES + _KEY_BYTES :])
            return OpenedRequest(plain, _Secret.of(context, share))
        except (PyHPKEError, ValueError):
            raise Malformed("not a sealed request, or of another key") from None


def _number(value: int) -> bytes:
    """Of variable length, as QUIC has it."""
    for size, mark in ((1, 0), (2, 1), (4, 2), (8, 3)):
        if value < 1 << (8 * size - 2):
            return (value | mark << (8 * size - 2)).to_bytes(size, "big")
    raise ValueError(value)


def _counted(data: bytes) -> bytes:
    return _number(len(data)) + data


def _rest(fields: Fields, body: bytes) -> bytes:
    """What requests and replies end with: fields, a body, and no trailer."""
    named = b"".join(_counted(name) + _counted(value) for name, value in fields)
    return _counted(named) + _counted(body) + b"\0"


class _Reader:
    """Reads a message in binary."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def number(self) -> int:
        """0 at the end, where empty parts may be left out."""
        if self._at == len(self._data):
            return 0
        size = 1 << (self._data[self._at] >> 6)
        return int.from_bytes(self._taken(size), "big") & (1 << (8 * size - 2)) - 1

    def counted(self) -> bytes:
        return self._taken(self.number())

    def rest(self) -> tuple[Fields, bytes]:
        """Fields with their names in lower case, and a body; then a trailer, which is ignored, and
        zeros alone.
        """
        fields = tuple(_Reader(self.counted())._fields())
        body = self.counted()
        self.counted()
        if self._data.count(0, self._at) != len(self._data) - self._at:
            raise Malformed("a sealed message is padded with zeros")
        return fields, body

    def _fields(self) -> Iterator[tuple[bytes, bytes]]:
        for _ in range(_MOST_FIELDS):
            if self._at == len(self._data):
                return
            name = self.counted().lower()
            yield name, self.counted()
        raise Malformed(f"a sealed message has fewer than {_MOST_FIELDS} fields")

    def _taken(self, size: int) -> bytes:
        found = self._data[self._at : self._at + size]
        if len(found) != size:
            raise Malformed("a sealed message ends too early")
        self._at += size
        return found

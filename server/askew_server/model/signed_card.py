"""A card that signs itself: strict JSON, whose `card_sha256` is a digest of every other field.

Decoding is strict: no number for text, no fraction for a whole number, no NaN, no unknown field,
no depth beyond what is written here.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Self, TypeVar

import msgspec
from msgspec import Meta

from askew.errors import ArtifactError

CARD = "card.json"
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Version = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
Count = Annotated[int, Meta(ge=0)]
UNSIGNED = "0" * 64


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No field more, no field less."""


class FileFields(Strict, frozen=True):
    """One file beside the card."""

    bytes: Count
    sha256: Sha256


class SignedCard(Strict, frozen=True, kw_only=True):
    """A card: the files beside it, the shapes of their arrays, and the digest of all its fields."""

    files: dict[str, FileFields]
    card_sha256: Sha256

    def digest(self) -> str:
        """What `card_sha256` must be."""
        # Through the types once: 8 where a float belongs is 8.0 when it is read back.
        fields = msgspec.to_builtins(msgspec.convert(msgspec.to_builtins(self), type(self)))
        del fields["card_sha256"]
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()

    def signed(self) -> Self:
        """The same with its digest."""
        return msgspec.structs.replace(self, card_sha256=self.digest())

    def encoded(self) -> bytes:
        """The signed card as a file, for people to read too."""
        return msgspec.json.format(msgspec.json.encode(self.signed()), indent=1)


_Card = TypeVar("_Card", bound=SignedCard)


class _Kind(msgspec.Struct, frozen=True):
    """Of a card's fields the one that says what it is a card of."""

    kind: str


def kind_of(data: bytes) -> str:
    """What a card says it is a card of, whatever else it says. Raises ArtifactError."""
    return _decoded(data, _Kind).kind


def decode_card(data: bytes, card: type[_Card]) -> _Card:
    """The fields of a card. Raises ArtifactError for anything but an unaltered one."""
    fields = _decoded(data, card)
    if fields.card_sha256 != fields.digest():
        raise ArtifactError("the card was altered: its digest does not fit")
    return fields


_Fields = TypeVar("_Fields", bound=msgspec.Struct)


def _decoded(data: bytes, fields: type[_Fields]) -> _Fields:
    try:
        return msgspec.json.decode(data, type=fields)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ArtifactError(f"the card cannot be read: {error}") from None

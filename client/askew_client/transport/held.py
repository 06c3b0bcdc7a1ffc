"""What a server lets devices hold, fetched whole and checked before it is used."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from askew.break_even import DEVICE_BYTES
from askew.editions import edition_of
from askew.errors import AskewError, Malformed, OtherKind
from askew.held_file import HEAD_BYTES, Head, Part
from askew.model_card import Catalog, ModelCard
from askew.wire.held import held_from_body
from askew_client.transport.protocol import Holding, Transport

_EPOCH = datetime.date(1970, 1, 1)


@dataclass(frozen=True)
class FetchedAnew:
    """Keeps nothing: what is held is fetched whenever it is asked for. Implements Library."""

    network: Transport
    limit: int = DEVICE_BYTES

    async def holding(self, day: datetime.date) -> Holding:
        """All that the server lets devices hold within the limit."""
        edition = edition_of((day - _EPOCH).days)
        body = await held_body(self.network, edition, self.limit)
        return Holding(*_read(body), edition, HEAD_BYTES + len(body))


def _read(body: bytes) -> tuple[ModelCard, Catalog]:
    """The card and the items of a body. Raises Malformed for any other."""
    try:
        return held_from_body(body)
    except AskewError as error:
        raise Malformed(f"what this server wants to be held was refused: {error}") from None


async def held_body(network: Transport, edition: int, limit: int) -> bytes:
    """The body of the whole catalog where it is within `limit` bytes, else of the starter items.

    Everybody with the same limit makes the same calls. Raises Malformed for a file that is longer
    than its head says, or that its digest does not fit; OtherKind where there is no file.
    """
    beginning = await network.held(edition, Part.WHOLE, 0)
    if not beginning:
        raise OtherKind("this server has no items for devices to hold")
    part = Part.WHOLE
    if Head.of(beginning).length > limit:
        part, beginning = Part.STARTER, await network.held(edition, Part.STARTER, 0)
    head = Head.of(beginning)
    if head.length > limit:
        raise Malformed(f"what this server wants to be held is over {limit} bytes")
    file = bytearray(beginning)
    while len(file) < HEAD_BYTES + head.length:
        piece = await network.held(edition, part, len(file))
        if not piece:
            raise Malformed("a held file ends before its end")
        file += piece
    body = bytes(file[HEAD_BYTES:])
    head.check(body)
    return body

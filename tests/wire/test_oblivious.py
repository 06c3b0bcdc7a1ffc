"""Requests that a relay passes on: sealed as RFC 9458 says, of public sizes, and opened by their
server alone.
"""

from __future__ import annotations

import pytest

from askew.errors import Malformed, NotFound, ParameterError
from askew.noise.randomness import ReplayBits, SystemBits
from askew.wire.oblivious import (
    GatewayKeys,
    KeyConfiguration,
    PlainReply,
    PlainRequest,
    reply_size,
    request_size,
)

# Appendix A of RFC 9458, as printed in its text of the last review by its authors (AUTH48), every
# value compared. There the key's identifier is 1; ours is the first byte of a digest.
PRIVATE = bytes.fromhex("3c168975674b2fa8e465970b79c8dcf09f1c741626480bd4c6162fc5b6a98e1a")
CONFIGURATION = bytes.fromhex(
    "01002031e1f05a740102115220e9af918f738674aec95f54db6e04eb705aae8e79815500080001000100010003"
)
PLAIN = bytes.fromhex("00034745540568747470730b6578616d706c652e636f6d012f")
EPHEMERAL = bytes.fromhex("bc51d5e930bda26589890ac7032f70ad12e4ecb37abb1b65b1256c9c48999c73")
SEALED = bytes.fromhex(
    "010020000100014b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b4726374e46913"
    "5906992e1268c594d2a10c695d858c40a026e7965e7d86b83dd440b2c0185204b4d63525"
)
NONCE = bytes.fromhex("c789e7151fcba46158ca84b04464910d")
SEALED_REPLY = bytes.fromhex(
    "c789e7151fcba46158ca84b04464910d86f9013e404feea014e7be4a441f234f857fbd"
)

QUESTION = PlainRequest(b"POST", b"/a/b", b"example.org", ((b"content-type", b"x"),), b"question")
BITS = SystemBits()
LISTED = len(CONFIGURATION).to_bytes(2, "big") + CONFIGURATION


def test_the_appendix_of_the_rfc_is_what_both_sides_make_and_open() -> None:
    key = KeyConfiguration.first_of(LISTED)
    asked = key.sealed_bytes(PLAIN, EPHEMERAL)
    assert asked.data == SEALED
    assert PlainRequest.from_bytes(PLAIN) == PlainRequest(b"GET", b"/", b"example.com")
    assert asked.opened(SEALED_REPLY) == PlainReply(200)


def test_a_request_and_its_reply_come_whole() -> None:
    keys = GatewayKeys([PRIVATE])
    asked = KeyConfiguration.first_of(keys.configurations).sealed(QUESTION, BITS)
    opened = keys.opened(asked.data)
    assert opened.request == QUESTION
    reply = PlainReply(404, ((b"content-type", b"y"),), b"reply" * 10_000)
    assert asked.opened(opened.sealed(reply, BITS)) == reply


def test_a_gateway_opens_and_seals_as_the_rfc_does() -> None:
    keys = GatewayKeys([PRIVATE])
    keys._keys = dict(enumerate(keys._keys.values(), start=1))
    opened = keys.opened(SEALED)
    assert opened.data == PLAIN
    assert opened.sealed_bytes(bytes.fromhex("0140c8"), NONCE) == SEALED_REPLY
    assert keys.configurations[3:37] == CONFIGURATION[1:35]  # its public key


def test_sizes_on_the_way_are_public_steps() -> None:
    """Planted bug: a message that is sealed as long as it is."""
    keys = GatewayKeys([PRIVATE])
    key = KeyConfiguration.first_of(keys.configurations)
    requests = [
        key.sealed(PlainRequest(b"POST", b"/", b"", (), bytes(size)), BITS) for size in range(370)
    ]
    assert {len(each.data) for each in requests} == {224, 448}
    opened = keys.opened(requests[0].data)
    replies = {
        len(opened.sealed(PlainReply(200, (), bytes(n)), BITS)) for n in range(0, 80_000, 97)
    }
    assert replies == {2048, 8192, 32_768, 65_536, 98_304}
    assert (request_size(0), reply_size(0)) == (224, 2048)


def test_a_key_that_is_rotated_out_is_told_apart_from_bytes_that_are_no_request() -> None:
    old, new = BITS.read(32), BITS.read(32)
    asked = KeyConfiguration.first_of(GatewayKeys([old]).configurations).sealed(QUESTION, BITS)
    assert GatewayKeys([new, old]).opened(asked.data).request == QUESTION
    with pytest.raises(NotFound):
        GatewayKeys([new]).opened(asked.data)
    for data in (b"", asked.data[:40], asked.data[:-1], asked.data[:7] + bytes(48)):
        with pytest.raises(Malformed):
            GatewayKeys([old]).opened(data)


def test_a_reply_of_another_request_is_refused() -> None:
    """A relay that mixes up replies. Planted bug: a reply's key without the request's secret."""
    keys = GatewayKeys([PRIVATE])
    key = KeyConfiguration.first_of(keys.configurations)
    one, other = key.sealed(QUESTION, BITS), key.sealed(QUESTION, BITS)
    sealed = keys.opened(one.data).sealed(PlainReply(200), BITS)
    for wrong in (b"", sealed[:-1], sealed[:16], bytes([sealed[0] ^ 1]) + sealed[1:]):
        with pytest.raises(Malformed):
            one.opened(wrong)
    with pytest.raises(Malformed):
        other.opened(sealed)


def test_the_ephemeral_key_is_the_kernels() -> None:
    key = KeyConfiguration.first_of(LISTED)
    assert key.sealed(QUESTION, ReplayBits(EPHEMERAL)).data[:39] == SEALED[:39]
    assert key.sealed(QUESTION, BITS).data != key.sealed(QUESTION, BITS).data


@pytest.mark.parametrize(
    "data",
    [
        b"\x02GET",  # of unknown length
        b"\0\x03GE",
        PLAIN + b"\0\0\0\1",
        b"\0\0\0\0\0" + b"\x40\x42" + bytes(66),  # 33 fields
    ],
)
def test_a_message_that_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        PlainRequest.from_bytes(data)


@pytest.mark.parametrize("data", [b"\0\x40\xc8", b"\1\x40\x64", b"\1", b"\1\x40\xc8\5abc"])
def test_a_reply_that_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        PlainReply.from_bytes(data)


@pytest.mark.parametrize(
    "listed",
    [
        b"",
        LISTED[:-1],
        b"\0\3abc",
        LISTED.replace(b"\0\x08\0\1\0\1\0\1\0\3", b"\0\x08\0\1\0\3\0\1\0\3"),
        LISTED.replace(b"\0\x20\x31", b"\0\x10\x31"),
    ],
)
def test_a_list_without_a_key_of_our_suite_is_refused(listed: bytes) -> None:
    with pytest.raises(ParameterError, match="relay"):
        KeyConfiguration.first_of(listed)


def test_no_key_and_a_key_twice_are_refused() -> None:
    for private in ([], [PRIVATE, PRIVATE]):
        with pytest.raises(ParameterError, match="ohttp_key"):
            GatewayKeys(private)
    with pytest.raises(Malformed):
        KeyConfiguration(1, bytes(32)).sealed(QUESTION, BITS)

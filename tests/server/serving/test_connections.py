"""What one connection may have under way, which ones are spared, and what nobody reads."""

from __future__ import annotations

import pytest

from askew.errors import Overloaded
from askew_server.serving.limits import SMALL, Connections

PEER, OTHER = "ipv4:192.0.2.7:4711", "ipv4:192.0.2.7:4712"


def connections(calls: int = 2, spared: tuple[str, ...] = (), unread: int = 1 << 20) -> Connections:
    return Connections(calls, spared, unread)


def test_a_connection_has_so_many_calls_and_no_more() -> None:
    here = connections()
    here.enter(PEER)
    here.enter(PEER)
    with pytest.raises(Overloaded, match="too many calls of one connection"):
        here.enter(PEER)


def test_another_connection_of_the_same_address_has_its_own() -> None:
    here = connections(calls=1)
    here.enter(PEER)
    here.enter(OTHER)


def test_a_call_that_is_over_makes_room() -> None:
    """Planted bug: a count that never goes down."""
    here = connections(calls=1)
    for _ in range(3):
        here.enter(PEER)
        here.leave(PEER)


def test_a_refused_call_is_not_counted() -> None:
    here = connections(calls=1)
    here.enter(PEER)
    with pytest.raises(Overloaded):
        here.enter(PEER)
    here.leave(PEER)
    here.enter(PEER)


def test_nothing_is_remembered_of_who_has_gone() -> None:
    here = connections()
    for port in range(1000):
        here.enter(f"ipv4:192.0.2.7:{port}")
        here.leave(f"ipv4:192.0.2.7:{port}")
    assert here.peers == 0


@pytest.mark.parametrize(
    ("spared", "peer"),
    [
        ("192.0.2.7", PEER),
        ("192.0.2.0/24", PEER),
        ("192.0.2.7/24", PEER),
        ("2001:db8::7", "ipv6:%5B2001:db8::7%5D:4711"),
        ("2001:db8::/32", "ipv6:[2001:db8::7]:4711"),
        ("fe80::/10", "ipv6:%5Bfe80::1%25eth0%5D:4711"),
    ],
)
def test_a_proxys_connection_carries_as_many_as_come(spared: str, peer: str) -> None:
    here = connections(calls=1, spared=(spared,))
    for _ in range(100):
        here.enter(peer)


@pytest.mark.parametrize("peer", ["ipv4:198.51.100.7:4711", "unix:", "unix:/run/askew", ""])
def test_who_is_no_proxy_is_not_spared(peer: str) -> None:
    here = connections(calls=1, spared=("192.0.2.0/24", "2001:db8::/32"))
    here.enter(peer)
    with pytest.raises(Overloaded):
        here.enter(peer)


def test_large_replies_wait_to_be_read_within_a_bound() -> None:
    here = connections(calls=9, unread=10 * SMALL)
    for _ in range(2):
        here.enter(PEER)
    held = here.hold(6 * SMALL)
    with pytest.raises(Overloaded, match="too many replies wait to be read"):
        here.hold(6 * SMALL)
    here.leave(PEER, held)
    assert here.hold(6 * SMALL) == 6 * SMALL


def test_small_replies_are_given_whoever_reads_nothing() -> None:
    here = connections(unread=10 * SMALL)
    here.hold(10 * SMALL)
    assert here.hold(SMALL) == 0

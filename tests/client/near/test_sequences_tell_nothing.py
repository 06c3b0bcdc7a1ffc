"""Sequences of questions near a place, and what a server makes of them.

The invariant: a call of the person is one question at most, with the k of the settings and the
collection that they named, and with the one signal of the place. What a device asks next never
depends on preferences, on filters, on what passed them or on which result was the pick. So whoever
makes the same calls is the same to a server, whatever they want. A person who asks again with
another k because nothing passed tells that by their own doing; the device never does it for them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from asked import near, near_all, near_cost
from client.near.conftest import BERLIN, SETTINGS, DeviceWorld
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from mechanisms.streams import ShakeBits

from askew.errors import AskewError
from askew.protocol.cards import ALL_NUMBER
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.near.pick import NO_PREFERENCES, Preferences

WANTS = (
    NO_PREFERENCES,
    Preferences(likes={"cuisine": {"italian": 30.0}}),
    Preferences(at_most={"price": -1.0}),  # nothing passes
    Preferences(at_most={"price": 9.0}, only={"cuisine": frozenset({"greek"})}, open_now=True),
)


class Call(NamedTuple):
    """One thing that a person does. k: 0 is as many as about 4 kB hold."""

    what: str
    k: int


CALLS = st.builds(Call, st.sampled_from(("ask", "all", "quote", "quoted")), st.integers(0, 24))


async def played(calls: list[Call], wants: Preferences, root: Path) -> tuple[list[bytes], int, str]:
    """What a server hears of these calls, and how each ended: by an answer, or by which error."""
    world = DeviceWorld(root, bits=ShakeBits("everybody's"))
    world.places.add("home", BERLIN)
    program, ends = world.program, []
    for call in calls:
        program.configure(replace(SETTINGS, near_k=call.k))
        heard = len(world.server.requests)
        try:
            if call.what == "quote":
                await near_cost(program, "places")
            elif call.what == "all":
                await near_all(program, preferences=wants)
            else:
                shown = await near_cost(program, "places") if call.what == "quoted" else None
                await near(program, "places", preferences=wants, shown=shown)
            ends.append("answered")
        except AskewError as error:
            ends.append(f"{type(error).__name__}: {error}")
        new = [pb.RetrieveRequest.FromString(each) for each in world.server.requests[heard:]]
        assert len(new) <= (call.what != "quote")
        assert all(each.k == call.k or not call.k for each in new)
        assert all(each.collection in {0, ALL_NUMBER} for each in new)
    signals = {
        pb.RetrieveRequest.FromString(each).map.SerializeToString()
        for each in world.server.requests
    }
    assert len(signals) <= 1
    return world.server.requests, world.server.n_cards, "; ".join(ends)


@settings(max_examples=8, derandomize=True, phases=[Phase.generate])
@given(calls=st.lists(CALLS, min_size=1, max_size=6))
async def test_whoever_makes_the_same_calls_is_the_same_to_a_server(
    tmp_path_factory: pytest.TempPathFactory, calls: list[Call]
) -> None:
    """Of k, collections and asking again. Planted bugs: a second question where preferences are
    strict; a larger k for who has some.
    """
    root = tmp_path_factory.mktemp("people")
    heard = [await played(calls, wants, root / str(n)) for n, wants in enumerate(WANTS)]
    assert heard[1:] == heard[:-1]


async def test_a_sequence_has_questions(tmp_path: Path) -> None:
    """Or the same silence would pass."""
    calls = [Call("ask", 20), Call("all", 0), Call("ask", 12), Call("quoted", 20)]
    requests, _, ends = await played(calls, WANTS[2], tmp_path)
    assert len(requests) == 4, ends

"""What a whole device reads of the kernel for a question, and where it stands when that fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from client.conftest import Pair
from client.hostile_world import World, charges, device_at
from client.test_hostile_models import PEOPLE
from metered import Failing, source

from askew.errors import NoRandomness
from askew_client.profile.document import Liking
from askew_client.transport import grpc as grpc_transport
from askew_client.views.answers import Answer


async def ask(world: World, folder: Path, ratings: dict[str, Liking]) -> Answer:
    async with device_at(world, folder, ratings=ratings) as device:
        return await device.asker.ask(device.titles)


async def sizes(world: World, folder: Path, ratings: dict[str, Liking]) -> list[int]:
    """How many bytes each read of one question gives."""
    read: list[int] = []
    kernel = os.urandom

    def give(count: int) -> bytes:
        read.append(count)
        return kernel(count)

    with source(give):
        await ask(world, folder, ratings)
    return [each for each in read if each]


async def test_everybody_reads_as_much_and_again_reads_no_signal(
    pair: Pair, tmp_path: Path
) -> None:
    """Planted bugs: a coin more for who rated something; a signal drawn for each question."""
    world = World(pair)
    with world.running():
        fresh = [await sizes(world, tmp_path / str(n), rated) for n, rated in enumerate(PEOPLE)]
        again = [await sizes(world, tmp_path / str(n), rated) for n, rated in enumerate(PEOPLE)]
    assert fresh[1:] == fresh[:-1]
    assert again[1:] == again[:-1]
    assert max(again[0]) < 16 < max(fresh[0])


DRAW = 3  # reads of a signal and of its entry's id; what follows are the pauses of retries
ALL = DRAW + grpc_transport._PAUSES  # that a question makes: none after it has left


@pytest.mark.parametrize("at", [0, 2, DRAW, ALL])
async def test_a_source_that_fails_at_any_read_sends_nothing_and_no_half_signal_is_charged(
    pair: Pair, tmp_path: Path, at: int
) -> None:
    """A signal that was whole before is charged and kept: the next question sends it for nothing.
    Planted bug: pauses that are drawn after the question left.
    """
    world = World(pair)
    with world.running():
        with source(Failing(at)):
            try:
                await ask(world, tmp_path, PEOPLE[0])
            except NoRandomness:
                failed = True
            else:
                failed = False
        assert failed == (at < ALL)
        assert len(world.asked) == (not failed)
        assert len(charges(tmp_path)) == (at >= DRAW)
        await ask(world, tmp_path, PEOPLE[0])
        assert (len(world.asked), len(charges(tmp_path))) == (2 - failed, 1)

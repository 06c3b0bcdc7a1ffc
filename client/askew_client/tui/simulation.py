"""The app without a server: a simulated model in this process, and stores that pass with it."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import resources
from pathlib import Path

from askew.model_card import Catalog, ModelCard
from askew.wire import convert
from askew_client.client import open_companion
from askew_client.demo.person import FAVORITES
from askew_client.device.device import Companion
from askew_client.profile.document import ProfileDocument
from askew_client.profile.store import PassingProfile
from askew_client.settings.settings import ClientSettings
from askew_client.transport.in_process import LocalTransport


@asynccontextmanager
async def simulated_companion(settings: ClientSettings) -> AsyncIterator[Companion]:
    """A made-up person's device. Leaves no file behind, and touches none of the real ones."""
    transport = LocalTransport(*simulated_model())
    with tempfile.TemporaryDirectory(prefix="askew-tui-") as directory:
        async with open_companion(
            settings,
            directory=Path(directory),
            transport=transport,
            profile=PassingProfile(ProfileDocument(dict(FAVORITES))),
        ) as companion:
            yield companion


def simulated_model() -> tuple[ModelCard, Catalog]:
    """What `askew-server serve --demo` serves, as its own messages; `make demo-model` wrote them.

    One message a line in base64: the card, then the catalog. They are read like any server's.
    """
    text = resources.files("askew_client.tui").joinpath("simulated_model.txt").read_text("ascii")
    card_bytes, *chunks = map(base64.b64decode, text.split())
    card = convert.card_from_bytes(card_bytes)
    return card, convert.catalog_from_chunks(chunks, card)

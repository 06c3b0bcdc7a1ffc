"""The device's role: it holds the profile, asks, and picks in private.

    async with AskewClient(ClientSettings()) as client:
        answer = await client.ask()
        title = client.pick(answer)

The names are imported when they are first used, so that `import askew_client` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from askew_client.client import AskewClient, BlockingClient
    from askew_client.settings.settings import ClientSettings

__all__ = ["AskewClient", "BlockingClient", "ClientSettings"]


def __getattr__(name: str) -> object:
    if name == "ClientSettings":
        from askew_client.settings.settings import ClientSettings

        return ClientSettings
    if name in __all__:
        from askew_client import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

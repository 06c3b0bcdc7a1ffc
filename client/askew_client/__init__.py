"""The device's role: it holds the profile, asks, and picks in private.

    async with AskewClient(ClientSettings()) as client:
        client.rate("Alien (1979)", 5)
        answer = await client.ask()
        best = client.pick(answer)

The names are imported when they are first used, so that `import askew_client` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from askew_client.client import AskewClient, BlockingClient, UnknownTitle
    from askew_client.settings.settings import ClientSettings

__all__ = ["AskewClient", "BlockingClient", "ClientSettings", "UnknownTitle"]


def __dir__() -> list[str]:
    """With the names that are not imported yet, so that `help` and completion find them."""
    return [*globals(), *__all__]


def __getattr__(name: str) -> object:
    if name == "ClientSettings":
        from askew_client.settings.settings import ClientSettings

        return ClientSettings
    if name in __all__:
        from askew_client import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""The device's role: it holds the profile, asks, and picks in private.

    async with AskewClient(ClientSettings()) as client:
        client.rate("Alien (1979)", 5)
        answer = await client.ask()
        best = client.pick(answer)

The names are imported when they are first used, so that `import askew_client` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

_HOMES = {
    "AskewClient": "askew_client.client",
    "AxisValues": "askew_client.profile.named_place",
    "BlockingClient": "askew_client.client",
    "ClientSettings": "askew_client.settings.settings",
    "Position": "askew.spaces.map",
    "UnknownTitle": "askew_client.client",
    "Preferences": "askew_client.near.preferences",
    "preferences_of": "askew_client.near.preferences",
}

if TYPE_CHECKING:
    from askew.spaces.map import Position
    from askew_client.client import AskewClient, BlockingClient, UnknownTitle
    from askew_client.near.preferences import Preferences, preferences_of
    from askew_client.profile.named_place import AxisValues
    from askew_client.settings.settings import ClientSettings

__all__ = [
    "AskewClient",
    "AxisValues",
    "BlockingClient",
    "ClientSettings",
    "Position",
    "Preferences",
    "UnknownTitle",
    "preferences_of",
]


def __dir__() -> list[str]:
    """With the names that are not imported yet, so that `help` and completion find them."""
    return [*globals(), *__all__]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

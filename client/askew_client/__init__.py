"""The device's role: it holds the profile, asks, and picks in private.

    async with AskewClient(ClientSettings()) as client:
        client.rate("Alien (1979)", 5)
        answer = await client.ask()
        best = client.pick(answer)

Every error that a call raises is here too, and is an AskewError. The names are imported when they
are first used, so that `import askew_client` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = [
    "Answer",
    "AskewClient",
    "AskewError",
    "AxisValues",
    "BlockingClient",
    "Budget",
    "BudgetExceeded",
    "CacheError",
    "ClientSettings",
    "ConnectionOpen",
    "Cost",
    "DimensionMismatch",
    "LedgerError",
    "LedgerRefused",
    "Malformed",
    "NearAnswer",
    "NearResult",
    "NoRandomness",
    "NotFound",
    "NotReady",
    "NotShown",
    "OtherKind",
    "OutOfRange",
    "Overloaded",
    "ParameterError",
    "PlaceError",
    "PlaceView",
    "Position",
    "PreferenceError",
    "Preferences",
    "ProfileError",
    "Rated",
    "Refreshed",
    "Result",
    "ServerFailed",
    "StaleSpace",
    "TooSlow",
    "TransportError",
    "UnclearTown",
    "UnknownTitle",
    "Unreachable",
    "WireError",
    "find_towns",
    "preferences_of",
]

if TYPE_CHECKING:
    from askew.errors import (
        AskewError,
        BudgetExceeded,
        CacheError,
        ConnectionOpen,
        DimensionMismatch,
        LedgerError,
        LedgerRefused,
        Malformed,
        NoRandomness,
        NotFound,
        NotReady,
        NotShown,
        OtherKind,
        OutOfRange,
        Overloaded,
        ParameterError,
        PlaceError,
        PreferenceError,
        ProfileError,
        ServerFailed,
        StaleSpace,
        TooSlow,
        TransportError,
        UnclearTown,
        Unreachable,
        WireError,
    )
    from askew.spaces.map import Position
    from askew_client.client import AskewClient, BlockingClient, UnknownTitle
    from askew_client.device.budget import Budget
    from askew_client.near.gazetteer import find_towns
    from askew_client.near.pick import Preferences, preferences_of
    from askew_client.profile.document import AxisValues
    from askew_client.settings.settings import ClientSettings
    from askew_client.views.answers import (
        Answer,
        NearAnswer,
        NearResult,
        PlaceView,
        Rated,
        Refreshed,
        Result,
    )
    from askew_client.views.cost import Cost
else:  # a checker of types knows the names above alone
    _HOMES = {  # all others are errors
        "AskewClient": "askew_client.client",
        "AxisValues": "askew_client.profile.document",
        "BlockingClient": "askew_client.client",
        "ClientSettings": "askew_client.settings.settings",
        "find_towns": "askew_client.near.gazetteer",
        "Position": "askew.spaces.map",
        "UnknownTitle": "askew_client.client",
        "Preferences": "askew_client.near.pick",
        "preferences_of": "askew_client.near.pick",
        "Answer": "askew_client.views.answers",
        "Budget": "askew_client.device.budget",
        "Cost": "askew_client.views.cost",
        "NearAnswer": "askew_client.views.answers",
        "NearResult": "askew_client.views.answers",
        "PlaceView": "askew_client.views.answers",
        "Rated": "askew_client.views.answers",
        "Refreshed": "askew_client.views.answers",
        "Result": "askew_client.views.answers",
    }

    def __dir__() -> list[str]:
        """Return all names of the module, with those that are not imported yet, so that `help` and
        completion find them.
        """
        return [*globals(), *__all__]

    def __getattr__(name: str) -> object:
        if name in __all__:
            from importlib import import_module

            return getattr(import_module(_HOMES.get(name, "askew.errors")), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

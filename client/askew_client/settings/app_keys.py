"""Keys of the app that a person chose, as the configuration has them: checked before it starts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from askew.errors import ParameterError

# Every command that has a key. The app's bindings have these names and no others.
COMMANDS: Final = (
    *("help", "retry", "flip-theme", "previous-screen", "next-screen"),
    *("go-profile", "go-ask", "go-privacy", "go-history", "go-settings", "go-near"),
    *("search", "titles", "undo", "only-rated", "like", "unrate", "forget"),
    *("rate-1", "rate-2", "rate-3", "rate-4", "rate-5", "half-less", "half-more"),
    *("ask", "stop", "use", "back", "forget-all"),
    *("add-place", "move-place", "forget-place", "wishes"),
)
NO_KEYS: Final[Mapping[str, str]] = MappingProxyType({})


def chosen_keys(value: object) -> Mapping[str, str]:
    """The configuration's table `keys`: a command's name, and its keys with commas between.

    Raises ParameterError for a command that does not exist, for what is no key, and for one key
    that two commands share.
    """
    if not isinstance(value, dict):
        raise ParameterError("keys", value, "a table of commands and their keys")
    taken: dict[str, str] = {}
    for command, keys in value.items():
        if command not in COMMANDS:
            raise ParameterError("a name in keys", command, f"one of {', '.join(COMMANDS)}")
        # No "," and no blank in a key: Textual calls them comma and space.
        if not isinstance(keys, str) or not re.fullmatch(r"[^\s,]+(, *[^\s,]+)*", keys):
            raise ParameterError(f"keys.{command}", keys, "a key such as z, ctrl+z or f7")
        for key in keys.replace(" ", "").split(","):
            other = taken.setdefault(key, command)
            if other != command:
                raise ParameterError(f"keys.{command}", key, f"a key that is not {other}'s")
    return MappingProxyType(dict(value))

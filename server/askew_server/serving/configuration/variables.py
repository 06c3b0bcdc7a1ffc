"""Variables of the environment that look like settings and are none: nothing would read them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from askew_server.serving.configuration.keys import KEYS

_PREFIX = "ASKEW_SERVER_"
_KNOWN = {each.variable for each in KEYS} | {"ASKEW_SERVER_CONFIG"}


def unknown_variables(names: Iterable[str]) -> Iterator[str]:
    """A line for each, without its value, with the name that was probably meant."""
    for name in sorted(set(names) - _KNOWN):
        if name.startswith(_PREFIX):
            near = difflib.get_close_matches(name, _KNOWN, n=1, cutoff=0.8)
            advice = f"; did you mean {near[0]}?" if near else ""
            yield f"{name} is no setting{advice}"

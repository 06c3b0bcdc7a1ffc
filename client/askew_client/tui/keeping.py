"""Settings that are changed in the app: used from now on, and kept in the configuration's file.

Only what changed is written, so a flag or a variable of this run does not get into the file by
itself. Where the file cannot be written, the settings are used all the same, and ConfigError says
so. file is None where nothing is kept, as in the demo.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from askew.errors import ConfigError
from askew_client.tui.widgets.bars import short_number

if TYPE_CHECKING:
    from askew_client.opening import Device
    from askew_client.settings.config import ConfigFile
    from askew_client.settings.settings import ClientSettings


def use_settings(file: ConfigFile | None, device: Device, *, typed: Mapping[str, str]) -> str:
    """Use settings as they were typed, keep those that changed in the file, and return a sentence
    that says which epsilon and k hold from now on.

    Raises ParameterError, in which case nothing changed, or ConfigError, in which case they are
    used and not kept.
    """
    before, after = device.settings, _typed(device, typed)
    device.configure(after)
    changed = {name for name in typed if getattr(before, name) != getattr(after, name)}
    if file is not None and changed:
        file.keep({name: getattr(after, name) for name in sorted(changed)})
    return (
        f"From now on: ε {short_number(after.epsilon_per_rating)} a rating, k {after.k}. A signal "
        "already drawn stays for its month."
    )


def raised_cap(
    file: ConfigFile | None, device: Device, *, typed: Mapping[str, str]
) -> tuple[Fraction, Fraction] | tuple[()]:
    """Return the lifetime cap of before and the typed one, if that is higher; else ().

    The lower of the one in force and the one in the file counts as that of before: neither is
    raised in silence. Raises ParameterError.
    """
    before = device.settings.rating_lifetime_cap
    after = _typed(device, typed).rating_lifetime_cap
    if after != before and file is not None:
        with suppress(ConfigError):  # nothing is kept in a file that cannot be read
            before = min(before, file.lifetime_cap())
    return (before, after) if after > before else ()


def keep_theme(file: ConfigFile | None, _: Device, *, dark: bool) -> None:
    """Write "dark" or "light" as the theme to the file; do nothing for None. Raises ConfigError."""
    if file is not None:
        file.keep({"theme": "dark" if dark else "light"})


def _typed(device: Device, typed: Mapping[str, str]) -> ClientSettings:
    values: dict[str, Any] = dict(typed)
    return replace(device.settings, **values)

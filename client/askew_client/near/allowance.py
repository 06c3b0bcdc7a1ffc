"""How many positions the caps allow, said before one is drawn and not only when one is refused."""

from __future__ import annotations

from askew_client.settings.ranges import LEVELS
from askew_client.settings.settings import ClientSettings


def allowance(settings: ClientSettings) -> str:
    """Whole positions of this level, for life and a month, and what costs less."""
    each = LEVELS[settings.level]
    life, month = settings.place_lifetime_cap // each, settings.place_monthly_cap // each
    text = (
        f"At level {settings.level} the caps allow {life} positions for life and {month} a month, "
        "with every --unnamed one; the settings place_lifetime_cap and place_monthly_cap say so."
    )
    if settings.level == "county":
        return text
    share = LEVELS["county"] / each
    return f"{text} Level county costs {float(share):.2g} of it: enough for where you are now."

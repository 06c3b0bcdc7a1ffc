"""What the screen of the profile says in words: why there are no bars, a summary, the newest."""

from __future__ import annotations

from rich.text import Text

from askew_client.tui import sentences
from askew_client.tui.messages import ProfileView
from askew_client.tui.widgets.stars import STARS, Stars
from askew_client.views.rated import Rated

_LATELY = 12  # ratings beside the bars, newest first


def why_no_bars(profile: ProfileView, *, connected: bool) -> str:
    """What stands in place of the bars; nothing where another line says why."""
    if profile.lock is None:
        return ""
    if not profile.ratings:
        return "Nothing is rated yet."
    if not connected:
        return "Bars need the catalog, which is not here."
    return "" if any(rated.known for rated in profile.ratings) else sentences.NONE_KNOWN


def summary(profile: ProfileView, *, connected: bool) -> Text:
    """How many ratings there are, and where they stay."""
    unknown = sum(not rated.known for rated in profile.ratings)
    if profile.lock is None:
        return Text("Your profile is locked: its passphrase was not typed.")
    if not profile.ratings:
        return Text(f"{sentences.RATE_A_FEW if connected else sentences.RATE_LATER}\n")
    text = Text(f"{_rated(profile.ratings)} It stays on this device.\n")
    if unknown == len(profile.ratings):
        text.append("They are kept, and unused.\n")
    elif unknown:
        text.append(f"{unknown} of them are not in this catalog: kept, and unused.\n")
    return text


def lately(profile: ProfileView, scale: Stars) -> Text:
    """The newest ratings, a line each."""
    text = Text(no_wrap=True, overflow="ellipsis")
    for rated in profile.ratings[:_LATELY]:
        stars = "♥".ljust(STARS) if rated.rating is None else scale.text(rated.rating)
        text.append(f"{stars} {rated.label}\n")
    return text


def _rated(ratings: tuple[Rated, ...]) -> str:
    return f"{len(ratings)} title{'s' * (len(ratings) != 1)} rated."

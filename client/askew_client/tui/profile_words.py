"""What the screen of the profile says in words: what was found, why there are no bars, a summary,
the newest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from askew_client.tui.messages import ProfileView
from askew_client.tui.widgets.stars import STARS, Stars
from askew_client.views.answers import Connection, Rated
from askew_client.views.problems import Setback

if TYPE_CHECKING:
    from askew_client.profile.editor import Forgotten

PURPOSE: Final = (
    "Your ratings make a profile, the bars on the right; both stay in a file on this device. "
    "Each bar lies between the two titles of this catalog that are furthest apart along it, "
    "the same two for everybody. Type to search, press Enter or ↓ to go to the titles, and "
    "rate with the keys 1 to 5 or by clicking the stars. A like counts as well."
)
KEYS: Final = (
    ("/", "search; Enter or ↓ goes to the titles"),
    ("1 to 5", "rate with stars; a click on a star does the same"),
    ("← →", "half a star less or more"),
    ("l", "like, without a number"),
    ("x", "take a rating back; undo keeps it"),
    ("X", "forget a title for good"),
    ("u", "undo the last edit"),
    ("o", "list only what is rated, or everything"),
    ("Alt+key", "the same while you type a search"),
)
REMOVED: Final = "Removed; u brings it back, for undo keeps it. X forgets it for good."
NONE_KNOWN: Final = "Nothing that you rated is in this catalog."
RATE_A_FEW: Final = "Rate a few titles that you know. Ratings stay on this device."
RATE_LATER: Final = "Rate a few titles once the catalog is here. Ratings stay on this device."
LIMIT: Final = 500  # titles that a search lists
_LATELY = 12  # ratings beside the bars, newest first


def why_no_bars(profile: ProfileView, *, connected: bool) -> str:
    """What stands in place of the bars; nothing where another line says why."""
    if profile.lock is None:
        return ""
    if not profile.ratings:
        return "Nothing is rated yet."
    if not connected:
        return "Bars need the catalog, which is not here."
    return "" if any(rated.known for rated in profile.ratings) else NONE_KNOWN


def summary(profile: ProfileView, *, connected: bool) -> Text:
    """How many ratings there are, and where they stay."""
    unknown = sum(not rated.known for rated in profile.ratings)
    if profile.lock is None:
        return Text("Your profile is locked: its passphrase was not typed.")
    if not profile.ratings:
        return Text(f"{RATE_A_FEW if connected else RATE_LATER}\n")
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


def listed(
    profile: ProfileView,
    connection: Connection | Setback | None,
    count: int,
    *,
    only_rated: bool,
) -> str:
    """How many titles are listed, and of what."""
    if profile.lock is None:
        return "Locked."
    if not profile.ratings and only_rated:
        return "Nothing is rated yet."
    if not isinstance(connection, Connection):
        return _listed_offline(profile, count, waiting=connection is None)
    if only_rated:
        return f"{count} rated  (o: all titles)"
    more = " or more" if count == LIMIT else ""
    return f"{count}{more} found" if count else "No title has all these words."


def _listed_offline(profile: ProfileView, count: int, *, waiting: bool) -> str:
    if count:
        return "No catalog: these are your ratings."
    if profile.ratings:
        return "No rating of yours has all these words."
    return "Waiting for the catalog ..." if waiting else "No catalog, and nothing is rated."


def forget_title(label: str) -> str:
    """What forgetting one title means, as a question."""
    return (
        f"Forget {label} for good? No undo brings its rating back, and past answers that name it "
        "are forgotten too."
    )


def forgotten(gone: Forgotten) -> str:
    """What was forgotten, without a title."""
    if not gone.titles and not gone.answers:
        return "Nothing of it was kept here."
    answers = f"{gone.answers} past answer{'s' * (gone.answers != 1)}"
    return f"Forgotten for good, and {answers} with it."

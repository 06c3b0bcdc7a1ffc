"""What the screen Near says in words. Names and titles in it are text: never markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.text import Text

from askew_client.near.place_forecast import PlaceForecast
from askew_client.tui.widgets.near_list import distance
from askew_client.views.place_map import PlaceGlow, Scene, Town, legend, likeliest, people_within
from askew_client.views.quote import NearAnswer, PlaceCost, PlaceView

PURPOSE: Final = (
    "What is near a place of yours. A place gets one noisy position when you add it, drawn and "
    "charged once, and every server gets that one. The map shows you ●, the signal ◆ and what "
    "a server can know from it: the brighter the glow, the likelier you are there. Results "
    "come whole, and this device ranks them by distance and by your wishes; neither your place "
    "nor your wishes are ever sent. Level and k are what-if until you use them; places that "
    "you have keep their signal."
)
KEYS: Final = (
    ("a, Enter", "ask"),
    ("Esc", "stop waiting"),
    ("n", "add a place"),
    ("m", "move it: a new signal, and a new charge"),
    ("f", "forget it: refunds nothing"),
    ("/", "wishes: they rank anew, and are never sent"),
    ("w", "use this level and k from now on"),
    ("← →", "another place, collection, level or k"),
)
NO_PLACE: Final = (
    "Add a place with n. It gets one noisy position, drawn and charged once; every server, "
    "collection and month gets that one, and no other."
)
NONE_PASSES: Final = (
    "No result passes your wishes. Nothing is asked again for that: a larger k or fewer wishes."
)
RANKED_AGAIN: Final = "nothing was sent for this; "
NO_REGION: Final = (
    "Name the region first: a country such as DE, or south/west/north/east in degrees. It is a "
    "public setting; a position outside it is refused."
)
FORGET: Final = (
    "Forget {name}? It is erased here. What its signal has told stays told, and stays charged."
)


def place(view: PlaceView) -> str:
    """What asking from a place tells, and costs."""
    words = "" if view.cost is None else _sentences(view.cost)
    return f"Asking sends this place's one noisy position again, for nothing. {words}"


def price(cost: PlaceCost, allowance: str) -> str:
    """What drawing one more position costs."""
    return f"A position is drawn once and charged. {_sentences(cost)} {allowance}"


def _sentences(cost: PlaceCost) -> str:
    return " ".join(f"{each[:1].upper()}{each[1:]}." for each in cost.words)


def what_if(forecast: PlaceForecast, level: str) -> str:
    """What a level and k would give, before anything is sent."""
    mean, most, hidden = map(distance, (forecast.mean_km, forecast.most_km, forecast.hidden_km))
    return (
        f"What if: a position drawn at level {level} lands {mean} km from you on average, 9 times "
        f"in 10 within {most} km; {hidden} km apart, odds change at most 4 times, and 10 km apart "
        f"{_times(forecast.odds(10))}. With k = {forecast.k} the nearest query point is "
        f"{distance(forecast.query_point_km)} km from you on average. Nothing is sent for this."
    )


def guesses(glow: PlaceGlow, towns: Sequence[Town]) -> str:
    """Where a server would look first that knows the map's own list of towns and nothing else."""
    likely = likeliest(towns, glow)
    if not likely:
        return ""
    names = ", ".join(f"{each.town.name} {100 * each.share:.0f} %" for each in likely)
    people = people_within(towns, glow)
    within = (
        f" {people:,} people of these towns live where you are 5 times in 10." if people else ""
    )
    return f"By this map's towns alone, a server's guess: {names}.{within}"


def told(answer: NearAnswer) -> str:
    """What the signal of an answer tells and has cost."""
    cost = answer.cost
    return _sentences(cost) if isinstance(cost, PlaceCost) else ""


def in_force(level: str, k: int) -> str:
    """What the person chose."""
    return f"From now on: level {level} for positions that are yet to be drawn, {k} results."


def answered(answer: NearAnswer) -> str:
    """Whose results they are, and what wishes they do not know."""
    missing = ", ".join(answer.missing)
    unknown = f"; your wishes name {missing}, which this collection does not have"
    return f"{answer.source}; ranked here{unknown if missing else ''}"


def pick(answer: NearAnswer) -> Text:
    """The pick, or that there is none."""
    best, text = answer.pick, Text()
    if best is None or answer.none_passes:
        return text.append(NONE_PASSES)
    text.append("Your pick, never sent\n", "italic")
    text.append(f"{best.title}, ", "bold")
    return text.append(f"{distance(best.distance)} {answer.unit} from you")


def map_legend(scene: Scene, *, shaded: bool) -> str:
    """What the signs of a map mean."""
    return "  ".join(legend(scene, shaded=shaded))


def _times(odds: float) -> str:
    return f"{odds:.3g} times" if odds < 1e6 else "more than a million times"

"""What the screen Near asks of the device, in a thread, and what it says: values in, values out.

Positions, pictures and results are private, so no value or message here shows its content when it
is printed. What is heavy to import is imported where it is used: the screen stands before that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from askew.errors import AskewError, PlaceError
from askew.spaces.map import Position
from askew_client.near.gazetteer import named_towns
from askew_client.tui.desk import use_settings
from askew_client.tui.lists import distance
from askew_client.views.answers import NearAnswer, PlaceView
from askew_client.views.cost import Cost, times
from askew_client.views.place_map import (
    PlaceHeatMap,
    Scene,
    Town,
    likeliest,
    people_within,
)

if TYPE_CHECKING:
    from askew.spaces.map import MapNoise
    from askew_client.opening import Device
    from askew_client.settings.config import ConfigFile
    from askew_client.settings.settings import Level


NO_REGION: Final = (
    "Name the region first: a country such as DE, or south/west/north/east in degrees. It is a "
    "public setting; a position outside it is refused."
)


@dataclass(frozen=True, repr=False)
class PlaceDraft:
    """A place to add, or where one is to move: private, and never sent as it is. shown: the price
    that stood beside it. take: whether a place at this very position is taken, once it was said.
    """

    name: str
    position: Position
    region: str
    shown: Cost
    take: bool | None = None


@dataclass(frozen=True, repr=False)
class Ranked:
    """An answer in the person's own order, its picture, and what it told and cost."""

    answer: NearAnswer
    scene: Scene
    words: str


def places_on_map(device: Device) -> tuple[PlaceView, ...]:
    """Return the named places on a map that have their noisy position, oldest first; no values on
    axes. Raises AskewError.
    """
    return tuple(each for each in device.places.list() if each.sent)


def outlook_of(
    device: Device, name: str, level: str, k: int, *, what_if: bool
) -> tuple[Scene, str]:
    """Return what is known before a question: a picture of a named place, and in words what asking
    from it means and what a level and k would give there. Nothing is sent or charged.

    what_if: show where a fresh one might land, and not the one that the place has. Raises
    AskewError.
    """
    place = next((place for place in places_on_map(device) if place.name == name), None)
    if place is None:  # forgotten by another program; StopIteration would never leave a thread
        raise PlaceError("there is no place of this name any more")
    true, towns = Position(*place.true), named_towns()
    heat_map = _heat_map_of(place.sent, cast("Cost", place.cost))
    scene = Scene(true, heat_map, _probes(heat_map, k), towns=towns)
    words = f"{sentences(cast('Cost', place.cost))}\n\n{guess_words(heat_map, towns)}"
    try:
        forecast = device.nearby.forecast(cast("Level", level), k)
    except AskewError as error:  # no region is set
        return scene, f"{words}\n\nNo forecast: {error}."
    if what_if:
        around = PlaceHeatMap(true, forecast.epsilon, forecast.cosine)
        scene = Scene(true, around, towns=towns, drawn=False)
    mean, most, hidden = map(distance, (forecast.mean_km, forecast.most_km, forecast.hidden_km))
    return scene, (
        f"{words}\n\n"
        f"What if: a position drawn at level {level} lands {mean} km from you on average, 9 times "
        f"in 10 within {most} km; {hidden} km apart, odds change at most 4 times, and 10 km apart "
        f"{times(10 * forecast.epsilon)}. With k = {forecast.k} the nearest query point is "
        f"{distance(forecast.query_point_km)} km from you on average. Nothing is sent for this."
    )


def keep_place(device: Device, draft: PlaceDraft, file: ConfigFile | None, *, moves: bool) -> str:
    """Draw, charge and keep a place, and return a sentence that says so. Raises AskewError, in
    which case nothing was drawn.

    Where the person named another region, that is a setting from now on, even if the place is
    refused.
    """
    if draft.region != device.settings.region:
        use_settings(file, device, typed={"region": draft.region})
    act = device.places.move if moves else device.places.add
    act(draft.name, draft.position, draft.shown, take=draft.take)
    if draft.take:
        return "Kept as one more name of that place; nothing was drawn or charged."
    return "Drawn and charged; every server will get this one position."


def mapped(device: Device, answer: NearAnswer) -> Ranked:
    """Return an answer with its map and words."""
    results = tuple(Position(*result.coordinates) for result in answer.results)
    picked = next((n for n, result in enumerate(answer.results) if result.picked), None)
    towns, true = named_towns(), Position(*answer.true)
    if not answer.cost.sends:
        noise = device.settings.map_noise
        around = PlaceHeatMap(true, float(noise.epsilon), noise.cosine)
        scene = Scene(true, around, (), results, picked, towns, drawn=False)
        return Ranked(answer, scene, answer.cost.reason)
    heat_map = _heat_map_of(answer.sent, answer.cost)
    probes = _probes(heat_map, answer.k)
    words = f"{sentences(answer.cost)}\n\n{guess_words(heat_map, towns)}"
    scene = Scene(true, heat_map, probes, results, picked, towns)
    return Ranked(answer, scene, words)


def _probes(heat_map: PlaceHeatMap, k: int) -> tuple[Position, ...]:
    from askew.placement.hexagonal import place_on_map

    return tuple(
        heat_map.position(*at) for at in place_on_map(heat_map.epsilon, k).offsets.tolist()
    )


def _heat_map_of(sent: tuple[float, ...], cost: Cost) -> PlaceHeatMap:
    noise = cast("MapNoise", cost.noise)
    return PlaceHeatMap(Position(*sent), float(noise.epsilon), noise.cosine)


_LEAST_SHARE = 0.005  # of a guess that is named: less is 0 %


def sentences(cost: Cost) -> str:
    """Return the words of a cost as sentences in a row."""
    return " ".join(f"{each[:1].upper()}{each[1:]}." for each in cost.words)


def guess_words(heat_map: PlaceHeatMap, towns: Sequence[Town]) -> str:
    """Return a sentence on where a server would look first that knows the map's own list of towns
    and nothing else: at most three towns, with shares in percent; "" where none has half a percent.
    """
    likely = [each for each in likeliest(towns, heat_map) if each[1] >= _LEAST_SHARE]
    if not likely:
        return ""
    people = people_within(towns, heat_map)
    among = f"{people:,} people of this map's towns live where you are 5 times in 10. "
    names = ", ".join(f"{town.name} {100 * share:.0f} %" for town, share in likely)
    return f"{among if people else ''}Of these towns alone, a server's guess: {names}."

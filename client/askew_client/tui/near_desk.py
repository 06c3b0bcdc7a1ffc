"""What the screen Near asks of the device: in a thread, one at a time, values in and values out.

Positions, pictures and results are private, so no value here shows its content when it is printed.
What is heavy to import is imported where it is used: the screen stands before that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from askew.errors import AskewError
from askew.spaces.map import MapNoise, Position
from askew_client.near.places import allowance
from askew_client.settings.ranges import LEVELS
from askew_client.settings.regions import region_of
from askew_client.settings.towns import named_towns
from askew_client.tui import near_words
from askew_client.tui.keeping import use_settings
from askew_client.views.place_map import PlaceGlow, Scene, probes_around
from askew_client.views.quote import NearAnswer, PlaceCost, PlaceView

if TYPE_CHECKING:
    from askew_client.device.device import Companion
    from askew_client.near.wishes import Wishes
    from askew_client.settings.file import ConfigFile
    from askew_client.settings.settings import Level


@dataclass(frozen=True, repr=False)
class PlaceDraft:
    """A place to add, or where one is to move: private, and never sent as it is. shown: the price
    that stood beside it.
    """

    name: str
    position: Position
    region: str
    shown: PlaceCost


@dataclass(frozen=True)
class PlacePrices:
    """What a position that is drawn now costs, in whichever region is typed. Public.

    allowance: how many of them the caps allow, in words.
    """

    epsilon_per_km: Fraction
    spent: Fraction
    cap: Fraction
    allowance: str

    def in_region(self, text: str) -> PlaceCost:
        """The price. Raises ParameterError for what is no region."""
        noise = MapNoise.in_region(self.epsilon_per_km, region_of(text))
        return PlaceCost.of(noise, self.spent, self.cap, fresh=True)


@dataclass(frozen=True, repr=False)
class Outlook:
    """What is known before a question: a picture, what asking from the place means, and what other
    settings would give.
    """

    scene: Scene
    words: str


@dataclass(frozen=True, repr=False)
class Ranked:
    """An answer in the person's own order, its picture, and what it told and cost."""

    answer: NearAnswer
    scene: Scene
    words: str


def places(device: Companion) -> tuple[PlaceView, ...]:
    """The named places that are on a map, and have their signal. Raises AskewError."""
    return tuple(each for each in device.nearby.places() if each.sent)


def look(device: Companion, name: str, level: str, k: int, *, what_if: bool) -> Outlook:
    """A named place, and what a level and k would give there. Nothing is sent or charged.

    what_if: show where a fresh signal might land, and not the one that the place has.
    Raises AskewError.
    """
    place = next(each for each in places(device) if each.name == name)
    true, towns = Position(*place.true), named_towns()
    glow = _glow_of(place.sent, cast("PlaceCost", place.cost))
    scene = Scene(true, glow, _probes(glow, k), towns=towns)
    words = f"{near_words.place(place)}\n\n{near_words.guesses(glow, towns)}"
    try:
        forecast = device.nearby.forecast(cast("Level", level), k)
    except AskewError as error:  # no region is set
        return Outlook(scene, f"{words}\n\nNo forecast: {error}.")
    if what_if:
        around = PlaceGlow(true, forecast.epsilon, forecast.cosine)
        scene = Scene(true, around, towns=towns, drawn=False)
    return Outlook(scene, f"{words}\n\n{near_words.what_if(forecast, level)}")


def prices(device: Companion) -> PlacePrices:
    """What a position that is drawn now would cost. Raises AskewError."""
    spent, settings = device.budget().places.spent, device.settings
    level = LEVELS[settings.level]
    return PlacePrices(level, spent, settings.place_lifetime_cap, allowance(settings))


def keep(device: Companion, draft: PlaceDraft, file: ConfigFile | None, *, moves: bool) -> str:
    """Draw, charge and keep a place, and say so. Raises AskewError, in which case nothing was.

    Where the person named another region, that is a setting from now on.
    """
    if draft.region != device.settings.region:
        use_settings(file, device, typed={"region": draft.region})
    act = device.nearby.move if moves else device.nearby.add
    act(draft.name, draft.position, draft.shown)
    return "Drawn and charged; every server will get this one position."


def forget(device: Companion, name: str) -> str:
    """Erase a place, and say so. Raises AskewError."""
    device.nearby.forget(name)
    return "Forgotten here; what its signal has told stays told."


def use(device: Companion, file: ConfigFile | None, typed: Mapping[str, str]) -> str:
    """Use other settings from now on, and say so. Raises AskewError."""
    use_settings(file, device, typed=typed)
    return near_words.in_force(device.settings.level, device.settings.near_k)


def ranked(_: Companion, answer: NearAnswer) -> Ranked:
    """An answer with its picture. Raises AskewError."""
    glow = _glow_of(answer.sent, cast("PlaceCost", answer.cost))
    results = tuple(Position(*result.coordinates) for result in answer.results)
    picked = next((n for n, result in enumerate(answer.results) if result.picked), None)
    probes = _probes(glow, answer.k)
    towns = named_towns()
    words = f"{near_words.told(answer)}\n\n{near_words.guesses(glow, towns)}"
    scene = Scene(Position(*answer.true), glow, probes, results, picked, towns)
    return Ranked(answer, scene, words)


def ranked_again(device: Companion, answer: NearAnswer, wishes: Wishes) -> Ranked:
    """The same answer by other wishes: nothing is sent. Raises AskewError."""
    return ranked(device, device.nearby.by_other_wishes(answer, wishes, device.ratings()))


def _probes(glow: PlaceGlow, k: int) -> tuple[Position, ...]:
    from askew.placement.hexagonal import place_on_map

    return probes_around(glow, place_on_map(glow.epsilon, k).offsets.tolist())


def _glow_of(sent: tuple[float, ...], cost: PlaceCost) -> PlaceGlow:
    return PlaceGlow(Position(*sent), float(cost.epsilon_per_km), cost.cosine)

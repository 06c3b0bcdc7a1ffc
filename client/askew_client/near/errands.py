"""From a place to what asks from it: a position on any map, or values on a server's axes.

Which of the two, a map or axes, is decided here, for all that asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from askew.errors import LedgerFrozen, ParameterError, PlaceError
from askew.protocol.signal import Signal
from askew.spaces.metric.axes import AxisSpace
from askew.spaces.metric.map_space import MapSpace
from askew.spaces.metric.position import Position
from askew_client.near.asker import Errand, NearAsker
from askew_client.near.on_axes import AxisErrand
from askew_client.near.on_map import LOST, MapAsker
from askew_client.profile.named_place import AxisValues, NamedPlace, Spot
from askew_client.settings.settings import ClientSettings
from askew_client.signals.account import Account
from askew_client.views.near import MAP_AXES, PlaceView

if TYPE_CHECKING:
    from askew.protocol.metric_card import MetricCard  # brings numpy


def fresh_errand(spot: Spot, handle: str, settings: ClientSettings) -> Errand:
    """What asks from a spot that has no signal yet.

    Raises PlaceError, before any call, for a position outside the region, and ParameterError where
    no region is set or the spot has another type.
    """
    if isinstance(spot, AxisValues):
        return AxisErrand(spot, handle)
    if not isinstance(spot, Position):
        raise ParameterError("place", type(spot).__name__, "a name, a Position or AxisValues")
    settings.plane.kilometers(spot)
    return MapAsker(spot, handle, settings.map_noise, settings.plane, settings.near_k)


def named_errand(
    place: NamedPlace, stored: Signal | None, frozen: str | None, settings: ClientSettings
) -> Errand:
    """What asks from a named place. stored: its noisy position, which is never drawn again.

    Raises PlaceError for a position whose signal the ledger has lost, and LedgerFrozen where it may
    have it and (frozen) is not trusted.
    """
    if isinstance(place.spot, AxisValues):
        return AxisErrand(place.spot, place.handle)
    if stored is None and frozen:
        raise LedgerFrozen(f"this place's signal is not trusted: {frozen}")
    if stored is None:
        raise PlaceError(LOST)
    return MapAsker(place.spot, place.handle, stored.map_noise, None, settings.near_k)


def asker_on(
    card: MetricCard, collection: str, errand: Errand, settings: ClientSettings
) -> NearAsker:
    """A place that asks this server. Raises PlaceError for a place of the other kind, and
    ParameterError for axes beyond this device's limits.
    """
    match errand, card.space:
        case MapAsker(), MapSpace(area):
            return errand.on(area, collection, settings.near_k)
        case AxisErrand(), AxisSpace() as space:
            return errand.on(space, collection, settings)
        case _, MapSpace():
            raise PlaceError("this server has a map, and the place is a value on axes")
        case _:
            raise PlaceError("this server has axes, and the place is a position on a map")


def view_of(name: str, place: NamedPlace, stored: Signal | None, account: Account) -> PlaceView:
    """A named place for the person's own eyes."""
    spot = place.spot
    if isinstance(spot, AxisValues):
        return PlaceView(name, tuple(spot.values), tuple(spot.values.values()))
    true = spot.latitude, spot.longitude
    if stored is None:
        return PlaceView(name, MAP_AXES, true)
    asker = MapAsker(spot, place.handle, stored.map_noise, None, 1)
    spent, cap = account.spent_per_km, account.caps.places_lifetime
    cost = asker.cost(stored.mechanism, spent, cap, fresh=False)
    return PlaceView(name, MAP_AXES, true, asker.sent(stored), cost)

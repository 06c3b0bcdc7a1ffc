"""The utility table, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator

from askew.dp.privacy import Reach, SignalLoss
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.utility_table import DEVICE_BYTES, ModeUtility, ServingMode, UtilityTable

_HEAD = ("mode", "holds", "bytes", "mechanism", "k", "any two", "a rating", "a unit", "ratio")
_ROW = "  {:<7}{:>9}{:>12}  {:<12}{:>3}{:>9}{:>10}{:>8}{:>7}"


def lines_of(table: UtilityTable, reach: Reach, *, simulated: bool = False) -> Iterator[str]:
    """The table with its header, and a sentence of what it proposes. reach: of the space.
    simulated: nobody gave the ratings.
    """
    whom = "SIMULATED people" if simulated else "people"
    yield f"utility    for {whom} held out; epsilon of any two people, of a rating, of a unit"
    yield _ROW.format(*_HEAD) + "  gain          equivalent items"
    for offer in table.rows:
        yield (_ROW.format(*_cells(offer, reach)) + _gain(offer)).rstrip()
    yield f"proposal   {sentence(table)}"


def sentence(table: UtilityTable) -> str:
    """What a device that follows the card does, and why."""
    offer = table.proposal
    match offer.mode:
        case ServingMode.LOCAL:
            size = f"all {offer.held:,} items in {offer.size:,} bytes"
            fits = "" if offer.size <= DEVICE_BYTES else "; that is more than it takes by default"
            return f"local: a device holds {size}, ranks them itself and sends nothing{fits}"
        case ServingMode.CACHED:
            return (
                f"cached: a device ranks the {offer.held:,} items that everybody holds and sends "
                "nothing; no signal at this epsilon gains more than chance makes"
            )
        case ServingMode.QUERY:
            return (
                f"query: {offer.mechanism} at {_short(float(offer.epsilon))}, k = {offer.k}, "
                f"brings {offer.gain:+.2f} ± {offer.gain_error:.2f} beside {offer.held:,} items "
                "that everybody holds"
            )


def loss_of(offer: ModeUtility, reach: Reach) -> SignalLoss | None:
    """What the signal of a row costs in a space of this reach, whatever the number of buckets."""
    match offer.mechanism:
        case "geo_laplace":
            return LatticeLaplace.for_epsilon(offer.epsilon).privacy_loss(reach)
        case "bucket_rr":
            return RandomizedResponse.for_epsilon(2, offer.epsilon).privacy_loss(reach)
        case None:
            return None


def _cells(offer: ModeUtility, reach: Reach) -> tuple[str, ...]:
    loss = loss_of(offer, reach)
    held, ratio = (f"{offer.held:,}", f"{offer.size:,}"), f"{offer.ratio:.2f}"
    if loss is None:
        return (offer.mode, *held, "", "", "", "", "", ratio)
    near = loss.epsilon_per_distance
    costs = (float(loss.epsilon), float(loss.epsilon_per_rating), near and float(near))
    shown = [_short(each) if each else "" for each in costs]
    return (offer.mode, *held, offer.mechanism or "", str(offer.k), *shown, ratio)


def _gain(offer: ModeUtility) -> str:
    if offer.mode is not ServingMode.QUERY:
        return ""
    return f"  {offer.gain:+.2f} ± {offer.gain_error:.2f} {_worth(offer):>10}"


def _worth(offer: ModeUtility) -> str:
    return str(offer.equivalent_items) if offer.equivalent_items else "-"


def _short(number: float) -> str:
    return f"{number:.3g}"

"""What the demo with places shows."""

from __future__ import annotations

from rich.text import Text

from askew.metric.position import Position
from askew.metric_card import MetricCard
from askew_client.demo.comparison import Comparison
from askew_client.demo.page import Page, table
from askew_client.demo.resident import COUNTRY, HOME, PLACE, TOWN, TOWNS, WISHES
from askew_client.places.on_map import kilometers
from askew_client.settings.settings import ClientSettings
from askew_client.views.near import NearAnswer, NearResult, PlaceView
from askew_client.views.place_glow import PlaceGlow
from askew_client.views.place_map import Scene, legend, lines, rank_sign

_LISTED = 8  # results in the table; the map has all
_COLUMNS, _ROWS = 76, 20


class NearScreen(Page):
    """The steps of the demo with places."""

    def opening(self) -> None:
        """Say what is about to happen."""
        self._starting("Askew: what is near me that I would like, without saying where I am")

    def person(self, card: MetricCard) -> None:
        """Who asks whom, and for what."""
        for each in card.collections:
            self._say(f"Its collection {each.name}: {each.n_items:,} items,")
            self._say(f"  {each.source}.")
        self._heading("1  The person (made up): all of this stays on the device")
        self._say(f"  {PLACE:<8} in {TOWN}, {COUNTRY}, at {_degrees(HOME)}")
        for name, kinds in WISHES.likes.items():
            for at, (kind, worth) in enumerate(kinds.items()):
                wish = "nearer" if worth > 0 else "farther"
                label = name if at == 0 else ""
                self._say(f"  {label:<8} {kind} counts as {abs(worth):g} km {wish}")
        for name, most in WISHES.at_most.items():
            self._say(f"  {name:<8} at most {most:g} EUR, or it is no pick")

    def question(
        self, place: PlaceView, answer: NearAnswer, sent: bytes, settings: ClientSettings
    ) -> None:
        """What is true, and what left."""
        true, noisy = Position(*place.true), Position(*answer.sent)
        self._heading("2  What is true, and what left the device")
        self._say(f"  {PLACE:<14} {_degrees(true)}   on this screen only")
        self._say(f"  noisy position {_degrees(noisy)}   sent")
        apart = kilometers(true, noisy)
        self._say(f"  They are {apart:.1f} km apart, which only this screen knows. The noise was")
        self._say(f"  drawn once, when {PLACE} was added; every server gets this one, every month.")
        self._say(f"  The whole question is {len(sent)} bytes: the noisy position and its law, the")
        self._say(f'  collection "{answer.collection}" and k = {answer.k}; no wish, no price, no clock.')
        cost = place.cost
        if cost is not None:
            self._say(f"  level {settings.level}: for two places {cost.hidden_km:.0f} km apart, odds")
            self._say(f"  change at most {cost.times_at(cost.hidden_km)}, whatever was believed before.")

    def answer(self, answer: NearAnswer, settings: ClientSettings) -> None:
        """What came back, ranked in private, and where it lies."""
        self._heading(f"3  The {answer.k} results that came back, ranked on the device")
        rows = table()
        for name in ("", "km", "kind", "EUR", "title"):
            rows.add_column(name, justify="right" if name in {"km", "EUR"} else "left")
        rows.add_column("")
        for each in answer.results[:_LISTED]:
            rows.add_row(*_row(each))
        self._console.print(rows)
        if len(answer.results) > _LISTED:
            self._say(f"  and {len(answer.results) - _LISTED} more, which the map has")
        if answer.none_passes:
            self._say("  No result passes the filter. The device says so, and does not ask again.")
        self._map(answer, settings)

    def quality(self, comparison: Comparison, k: int, draws: int) -> None:
        """The pick beside what no privacy, other answers and no question would have given."""
        self._say(f"  Mean of {draws} draws of the noise, which a second process answered; nothing of")
        self._say("  it was charged. Kilometers beyond the best of all places:")
        rows = table()
        for name in ("", "nearest place", "pick by wishes", "no pick"):
            rows.add_column(name, justify="right" if name else "left")
        ways = (
            (f"no privacy: the {k} nearest to {PLACE}", "known", ""),
            (f"Askew: noisy position, k = {k}", "served", "bold"),
            (f"the {k} nearest to the noisy position", "nearest", ""),
            ("the noisy position, k = 1", "one", ""),
            (f"no signal: the same {k} for everybody", "everybody", ""),
        )
        for label, way, style in ways:
            row = comparison.row(way)
            wished = "" if row.wished is None else f"{row.wished:.1f}"
            rows.add_row(label, f"{row.nearest:.1f}", wished, f"{row.none:.0%}", style=style)
        self._console.print(rows)
        self._say("  A wish counts as the kilometers that it is worth; no pick: none passes a filter.")

    def ledger(self, other: NearAnswer, *, same: bool) -> None:
        """What it cost, and that it costs nothing more."""
        self._heading("5  What the budget ledger says")
        for line in other.cost.words:
            self._say(f"  {line}")
        sent = "the same noisy position" if same else "ANOTHER POSITION"
        self._say(f"  Asked again, and for {other.collection}: {sent}, and no new charge.")
        self._say("  Whoever is far away stays told apart from you: that is meant.")

    def closing(self) -> None:
        """Say that nothing is left running."""
        self._say("")
        self._say("The server has stopped. Home, wishes, ranking and pick never left the device.")

    def _map(self, answer: NearAnswer, settings: ClientSettings) -> None:
        noise = settings.map_noise
        scene = Scene(
            you=HOME,
            glow=PlaceGlow(Position(*answer.sent), float(noise.epsilon), noise.cosine),
            results=tuple(Position(*each.coordinates) for each in answer.results),
            picked=None if answer.pick is None else answer.pick.rank - 1,
            towns=TOWNS,
        )
        width = min(_COLUMNS, self._console.width - 4)
        self._say("")
        for line in lines(scene, scene.frame(width, _ROWS)):
            self._say(f"  {line}")
        self._say("")
        said = legend(scene)
        for at in range(0, len(said), 3):
            self._say("  " + "   ".join(said[at : at + 3]))


def _row(each: NearResult) -> tuple[str | Text, ...]:
    values = dict(each.values)
    note = Text("" if each.passes else "too dear")
    if each.picked:
        note = Text("the pick: never sent", "bold green")
    price = values["price"]
    shown = "" if price is None else f"{price:.1f}"
    kind, title = Text(str(values["kind"])), Text(each.title)
    return rank_sign(each.rank), f"{each.distance:.1f}", kind, shown, title, note


def _degrees(position: Position) -> str:
    return f"{position.latitude:8.4f} north {position.longitude:8.4f} east"

"""What the demo with films shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from askew.dp.privacy import Reach, SignalLoss
from askew.noise.randomness import RandomBits
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query
from askew_client.demo.map_picture import COLUMNS, draw_map
from askew_client.demo.page import Page, table
from askew_client.forecast.forecast import Comparison, Quality
from askew_client.settings.settings import ClientSettings
from askew_client.signals.account import Charge
from askew_client.taste.exchange import Exchange


class DemoScreen(Page):
    """The steps of the demo with films."""

    def opening(self) -> None:
        """Say what is about to happen."""
        self._starting("Askew: one private exchange, from a device to a server and back")

    def person(self, exchange: Exchange, size: int) -> None:
        """Who asks, and for what. size: of what the device holds, in bytes."""
        card = exchange.card
        self._say(f"Its catalog: {card.n_items} {card.source}.")
        kilobytes = f"{size / 1000:.0f} kB"
        self._say(
            f"The device holds all of it, in {kilobytes}: `askew ask` would rank it here and",
            "send nothing. This demo asks all the same, as if it were too much to hold.",
        )
        self._heading("1  The person (made up) and their ratings: these stay on the device")
        for item, rating in exchange.ratings.items():
            self._say(f"     {rating:>4g}  {exchange.catalog.items[item].label}")

    def question(self, exchange: Exchange, query: Query, sent: bytes) -> None:
        """What is true, and what left."""
        signal, unit = query.signal, exchange.card.space.encoder.unit
        self._heading("2  What is true, and what left the device")
        self._say("  A point says where a person's likes put them among the people of the model:")
        self._say(f"  from 0 to {unit:.2f} on each axis. The server says that 1 apart is typical.")
        self._say(f"  true point     {_point(exchange.profile.point)}   on this screen only")
        self._say(f"  noisy signal   {_point(signal.point())}   sent")
        integers = ", ".join(str(z) for z in signal.values)
        self._say(f"  The signal travels as the integers ({integers}), in steps of")
        self._say(
            f"  2^-{signal.lattice.step_exponent}. The whole question is {len(sent)} bytes, "
            f"with k = {query.k} in it; no name, no"
        )
        self._say("  rating, no clock. Another person's question has the same size.")
        self._say("  k is how many results to send back. epsilon is how much the signal may tell:")
        self._say(f"  here {_number(signal.lattice.epsilon)} per unit distance.")

    def answer(self, exchange: Exchange, query: Query, slate: Slate, bits: RandomBits) -> None:
        """What came back, ranked in private."""
        self._heading(f"3  The {query.k} results that came back, ranked on the device")
        ranking = exchange.rank(slate)
        rows = table()
        rows.add_column("score", justify="right")
        rows.add_column("film")
        rows.add_column("")
        for item in ranking.order:
            note = Text("already rated" if item in exchange.ratings else "")
            if item == ranking.best:
                note = Text("the pick: never sent", "bold green")
            label = Text(exchange.catalog.items[item].label)
            rows.add_row(f"{100 * ranking.scores[item]:.1f}", label, note)
        self._console.print(rows)
        if exchange.card.space.dimension == 2 and self._console.width > COLUMNS + 2:
            self._say("")
            self._say(draw_map(exchange, query, bits))

    def quality(self, comparison: Comparison, k: int, draws: int) -> None:
        """The pick beside what no privacy, one result and no question would have given."""
        self._say(f"  Mean of {draws} draws of the noise, played on the device; nothing was sent.")
        shown = table()
        shown.add_column("")
        shown.add_column("utility", justify="right")
        shown.add_column("place among unrated", justify="right")
        rows: Sequence[tuple[str, Quality, str]] = (
            ("the device holds everything: nothing sent", comparison.no_privacy, ""),
            ("no privacy: the server sees the profile", comparison.no_privacy, ""),
            (f"Askew: noisy signal, k = {k}, private pick", comparison.many, "bold"),
            ("the same signal, k = 1", comparison.one, ""),
            (f"no signal at all: the same {k} for anybody", comparison.nothing_sent, ""),
        )
        for label, quality, style in rows:
            shown.add_row(
                label, f"{quality.relative_score:.2f}", f"{quality.place:.0f}", style=style
            )
        self._console.print(shown)
        self._say("  Utility is the score of the pick over that of the best film not yet rated.")

    def ledger(
        self, charges: Sequence[Charge], settings: ClientSettings, *, same_bytes: bool
    ) -> None:
        """What it cost."""
        self._heading("5  What the budget ledger says")
        for charge in charges:
            rate = charge.epsilon_per_distance
            metric = "" if rate is None else f" (epsilon {_number(rate)} per unit distance)"
            self._say(f"  {charge.slot}   one signal, {_number(charge.epsilon)}{metric}")
        spent = sum((charge.epsilon for charge in charges), Fraction(0))
        cap = settings.lifetime_cap
        self._say(f"  spent {_number(spent)} of a lifetime cap of {_number(cap)}, counted as plain")
        self._say("  local differential privacy: epsilon between any two people, near or far")
        sent = "the same bytes" if same_bytes else "OTHER BYTES"
        cost = "no new charge" if len(charges) == 1 else "A NEW CHARGE"
        self._say(f"  Asked again in the same month: {sent}, and {cost}.")

    def meaning(self, loss: SignalLoss, reach: Reach) -> None:
        """The guarantee in words, in its three units."""
        distance = loss.epsilon_per_distance or loss.epsilon
        one, typical, widest = map(_odds, (loss.epsilon_per_rating, distance, loss.epsilon))
        self._say("")
        self._say("  In words: whoever sees the signal and must tell which of two people sent it")
        self._say("  gains odds of at most")
        self._say(f"    {one:<24}if one rating is all in which they differ,")
        self._say(f"    {typical:<24}if they are 1 apart: typical, says the server,")
        far = f"{float(reach.diameter):.2f}"
        self._say(f"    {widest:<24}if they are as far apart as can be ({far}).")

    def closing(self) -> None:
        """Say that nothing is left running."""
        self._say("")
        self._say("The server has stopped. Ratings, scores and the pick never left the device.")


def _number(value: Fraction) -> str:
    return f"{float(value):.4g}"


def _odds(epsilon: Fraction) -> str:
    """A privacy loss as odds: "e^4 (55 to 1)"."""
    loss = float(epsilon)
    if loss > 30:
        return f"e^{loss:.3g}"
    odds = float(f"{math.exp(loss):.3g}" if loss < 3 else f"{math.exp(loss):.2g}")
    return f"e^{loss:.3g} ({odds:,.10g} to 1)"


def _point(vector: NDArray[np.float64]) -> str:
    return "(" + ", ".join(f"{value:+.2f}" for value in vector) + ")"

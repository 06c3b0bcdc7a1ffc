"""The person of the demo with places: nobody, at a made-up home in a real town.

Fulda was taken because what is shown for it is close to the average over people of the country
(docs/demo.md). Positions of towns: GeoNames, CC BY 4.0 (see settings/GEONAMES.md).
"""

from __future__ import annotations

from typing import Final

from askew.metric.position import Position
from askew_client.places.wishes import Wishes
from askew_client.views.place_glow import Town

COUNTRY: Final = "Germany"
PLACE: Final = "home"
TOWN: Final = "Fulda"
HOME: Final = Position(50.5636, 9.6952)
WISHES: Final = Wishes(
    likes={
        "kind": {"Vietnamese": 4.0, "Indian": 3.0, "Greek": 2.0, "Burgers": -3.0, "Bakery": -3.0}
    },
    at_most={"price": 18.0},
)
# By which the map is read, wherever the noise leads.
TOWNS: Final = (
    Town("Fulda", Position(50.5516, 9.6752), 63_760),
    Town("Bad Hersfeld", Position(50.8720, 9.7089), 30_725),
    Town("Gelnhausen", Position(50.2016, 9.1874), 21_881),
    Town("Meiningen", Position(50.5679, 10.4152), 21_580),
    Town("Bad Kissingen", Position(50.2023, 10.0778), 21_328),
    Town("Schlüchtern", Position(50.3489, 9.5253), 17_260),
    Town("Bad Salzungen", Position(50.8134, 10.2361), 16_410),
    Town("Hünfeld", Position(50.6797, 9.7673), 16_323),
    Town("Alsfeld", Position(50.7518, 9.2708), 15_945),
    Town("Nidda", Position(50.4133, 9.0064), 18_241),
    Town("Lauterbach", Position(50.6356, 9.3978), 14_487),
)

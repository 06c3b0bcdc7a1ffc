"""The person of the demo with places: nobody, at a made-up home in a real town.

Heilbronn was taken because its figures are near the average over people of the country, a little
worse. Positions of towns: GeoNames, CC BY 4.0 (see settings/GEONAMES.md).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from askew.spaces.map import Position
from askew_client.near.pick import Preferences
from askew_client.views.place_map import Town

COUNTRY: Final = "Germany"
PLACE: Final = "home"
TOWN: Final = "Heilbronn"
HOME: Final = Position(49.1519, 9.2405)
WITHOUT_LIVE: Final = Preferences(
    likes={
        "kind": {"Vietnamese": 4.0, "Indian": 3.0, "Greek": 2.0, "Burgers": -3.0, "Bakery": -3.0}
    },
    at_most={"price": 18.0},
)
PREFERENCES: Final = replace(WITHOUT_LIVE, only={"free table": frozenset({"yes"})})
# By which the map is read, wherever the noise leads.
TOWNS: Final = (
    Town("Stuttgart", Position(48.7823, 9.1770), 612_663),
    Town("Heidelberg", Position(49.4077, 8.6908), 143_345),
    Town("Heilbronn", Position(49.1399, 9.2205), 120_733),
    Town("Ludwigsburg", Position(48.8973, 9.1916), 87_603),
    Town("Waiblingen", Position(48.8324, 9.3164), 52_945),
    Town("Backnang", Position(48.9474, 9.4372), 38_818),
    Town("Sinsheim", Position(49.2529, 8.8787), 37_036),
    Town("Schwäbisch Hall", Position(49.1113, 9.7391), 36_543),
    Town("Bretten", Position(49.0369, 8.7074), 30_274),
    Town("Mosbach", Position(49.3536, 9.1511), 25_106),
    Town("Öhringen", Position(49.1988, 9.5072), 22_765),
    Town("Eppingen", Position(49.1365, 8.9123), 21_179),
)

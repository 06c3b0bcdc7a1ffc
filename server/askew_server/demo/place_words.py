"""What the demo's simulated places are called, cost and keep open; all of it made up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Kind:
    """A kind of place: its share of all, a typical price in EUR, and last words of its names."""

    name: str
    share: float
    price: float
    called: tuple[str, str, str]


KINDS: Final = (
    Kind("German", 0.22, 17.0, ("Tavern", "Inn", "Cellar")),
    Kind("Italian", 0.18, 15.0, ("Trattoria", "Oven", "Osteria")),
    Kind("Turkish", 0.14, 9.0, ("Grill", "Meze House", "Hearth")),
    Kind("Bakery", 0.13, 5.0, ("Bakery", "Crumb", "Loaf")),
    Kind("Burgers", 0.09, 12.0, ("Burgers", "Diner", "Bun")),
    Kind("Greek", 0.07, 16.0, ("Taverna", "Olive", "Ouzeri")),
    Kind("Vietnamese", 0.05, 12.0, ("Pho", "Bowl", "Noodles")),
    Kind("Indian", 0.05, 14.0, ("Tandoor", "Thali", "Spice Room")),
    Kind("Sushi", 0.04, 21.0, ("Sushi", "Counter", "Roll")),
    Kind("Vegan", 0.03, 14.0, ("Greens", "Kitchen", "Table")),
)
BAKERY: Final = 3

_FIRST = """
Amber Blue Brass Chalk Clover Copper Crooked Drowsy Early Ember Faraway Gentle Golden Hidden Idle
Iron Jolly Kind Late Little Lucky Merry Mossy Narrow Northern Old Paper Quiet Red Rusty Salty Silver
Sleepy Slow Southern Sunny Tall Tin Velvet Wandering White Wild Windy Winter
"""
_SECOND = """
Anchor Badger Barrel Bear Bell Bicycle Bridge Button Candle Chestnut Cricket Crow Drum Fern Fiddle
Fox Garden Goose Hare Harbor Hedgehog Heron Kettle Lantern Linden Magpie Mill Moon Otter Owl Pear
Plum Raven River Rooster Sparrow Spoon Stork Thimble Trout Walnut Wren
"""
FIRST_WORDS: Final = tuple(_FIRST.split())
SECOND_WORDS: Final = tuple(_SECOND.split())

MEAL_HOURS: Final = (
    "Mo-Su 11:00-22:00",
    "Tu-Su 17:00-23:00",
    "Mo-Fr 11:30-21:30; Sa-Su 12:00-22:00",
    "We-Su 12:00-21:00",
)
BAKERY_HOURS: Final = "Mo-Fr 06:00-18:00; Sa 06:00-13:00; Su 08:00-11:00"
SHOP_HOURS: Final = (
    "Mo-Fr 08:00-18:00; Sa 09:00-13:00",
    "Mo-Fr 08:30-18:30; Sa 08:30-14:00",
    "Mo-Sa 09:00-20:00",
)

"""The person of the demos: nobody."""

from __future__ import annotations

from typing import Final

# Loves science fiction and would rather not sing. In the format of `ratings_csv`.
FAVORITES: Final = """title,rating
Alien (1979),5
Blade Runner (1982),5
Arrival (2016),5
The Matrix (1999),4.5
2001: A Space Odyssey (1968),4.5
Toy Story (1995),2.5
Casablanca (1942),1.5
Singin' in the Rain (1952),1
"""

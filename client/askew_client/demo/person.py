"""The people of the demos: nobody."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

# Loves a crime story and would rather not be sung to.
FAVORITES: Final = MappingProxyType(
    {
        "Chinatown (1974)": 5.0,
        "The Godfather (1972)": 5.0,
        "Goodfellas (1990)": 5.0,
        "Fargo (1996)": 4.5,
        "Double Indemnity (1944)": 4.5,
        "L.A. Confidential (1997)": 4.5,
        "Heat (1995)": 4.0,
        "Toy Story (1995)": 2.0,
        "Frozen (2013)": 1.5,
        "Mary Poppins (1964)": 1.0,
    }
)

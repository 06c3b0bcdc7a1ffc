"""The person of the demos: nobody."""

from __future__ import annotations

from typing import Final

# Loves a crime story and would rather not be sung to. In the format of `ratings_csv`.
FAVORITES: Final = """title,rating
Chinatown (1974),5
The Godfather (1972),5
Goodfellas (1990),5
Fargo (1996),4.5
Double Indemnity (1944),4.5
L.A. Confidential (1997),4.5
Heat (1995),4
Toy Story (1995),2
Frozen (2013),1.5
Mary Poppins (1964),1
"""

"""The length of the shortest path between two points of WGS84: Vincenty's inverse formula, 1975.

It shares nothing with the program, and is held against geodesics that another program computed.
"""

from __future__ import annotations

from math import atan, atan2, cos, hypot, radians, sin, sqrt, tan

_A, _F = 6378.137, 1 / 298.257223563  # kilometers; flattening
_B = _A * (1 - _F)


def geodesic(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Kilometers between two (latitude, longitude) in degrees. Raises where it does not converge,
    which is near opposite ends of the Earth alone.
    """
    u, v = (atan((1 - _F) * tan(radians(latitude))) for latitude, _ in (a, b))
    across = radians((b[1] - a[1] + 180) % 360 - 180)
    turn = across
    for _ in range(10_000):
        sine = hypot(cos(v) * sin(turn), cos(u) * sin(v) - sin(u) * cos(v) * cos(turn))
        if sine == 0:
            return 0.0
        cosine = sin(u) * sin(v) + cos(u) * cos(v) * cos(turn)
        arc = atan2(sine, cosine)
        azimuth = cos(u) * cos(v) * sin(turn) / sine
        square = 1 - azimuth**2
        middle = cosine - 2 * sin(u) * sin(v) / square if square > 1e-15 else 0.0
        c = _F / 16 * square * (4 + _F * (4 - 3 * square))
        inner = cosine * (2 * middle**2 - 1)
        last = turn
        turn = across + (1 - c) * _F * azimuth * (arc + c * sine * (middle + c * inner))
        if abs(turn - last) < 1e-13:
            return _length(square, arc, sine, cosine, middle)
    raise ArithmeticError("no convergence")


def _length(square: float, arc: float, sine: float, cosine: float, middle: float) -> float:
    root = sqrt(1 + square * (_A**2 - _B**2) / _B**2)
    k = (root - 1) / (root + 1)
    large, small = (1 + k**2 / 4) / (1 - k), k * (1 - 3 * k**2 / 8)
    inner = cosine * (2 * middle**2 - 1)
    outer = small / 6 * middle * (4 * sine**2 - 3) * (4 * middle**2 - 3)
    return _B * large * (arc - small * sine * (middle + small / 4 * (inner - outer)))

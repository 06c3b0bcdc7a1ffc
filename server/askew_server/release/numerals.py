"""Exact numbers as people read them; the exact rationals stand in the release."""

from __future__ import annotations

from fractions import Fraction


def number(value: Fraction | int) -> str:
    """Short, and exact where a short decimal is."""
    return f"{float(value):.6g}"


def losses(epsilon: Fraction, delta: Fraction) -> str:
    """A loss."""
    return f"epsilon {number(epsilon)}, delta {number(delta)}"

"""The papers' algorithms, written plainly from their definitions, to stand beside ours.

Their noise is numpy's floats: their laws are right but for rounding, and protect nobody.
"""

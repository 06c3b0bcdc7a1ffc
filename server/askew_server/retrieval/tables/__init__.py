"""Answers made before the first question, for the ways to ask that a card names."""

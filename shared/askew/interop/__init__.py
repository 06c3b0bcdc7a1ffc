"""Askew's mechanisms in other libraries. Each module imports its library when it is used."""

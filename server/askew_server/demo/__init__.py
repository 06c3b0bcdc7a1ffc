"""The embedded demo data: facts about films, with simulated ratings."""

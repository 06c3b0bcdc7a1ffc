"""One person's taste: the signal that it makes, and the ranking by it."""

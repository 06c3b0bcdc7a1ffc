"""Privacy losses, their composition, and what analysts and releases are."""

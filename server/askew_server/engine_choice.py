"""Which engine counts, by the name that an operator types, and the secret that it counts with."""

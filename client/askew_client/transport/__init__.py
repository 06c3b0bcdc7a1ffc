"""Ways to a server, whatever they are made of."""

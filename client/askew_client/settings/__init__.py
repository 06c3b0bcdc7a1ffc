"""How a device asks: static settings, and where they come from."""

"""Which mode a device is served by: local, cached or query, by public things alone."""

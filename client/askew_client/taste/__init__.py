"""Which way a device is served: whole, shared or signal, by public things alone."""

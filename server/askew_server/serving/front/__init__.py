"""gRPC: services on a port, what is admitted, and the client of analysts."""

"""Answering calls: services, the port they are behind, and the processes that run them."""

"""Askew's core: noise, placement and the types that the two roles share.

Pure: no I/O, no clock, no logging, no global state. Randomness, time and settings are arguments.
Only `askew.wire` knows protobuf and gRPC.
"""

__version__ = "0.1.0"

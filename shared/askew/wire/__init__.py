"""The only part of Askew that knows protobuf and gRPC."""

"""The services over gRPC, their process, and who may call them."""

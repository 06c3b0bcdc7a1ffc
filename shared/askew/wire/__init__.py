"""The only part of Askew that knows protobuf and gRPC."""

from google.protobuf.internal import api_implementation

# The pure-Python runtime is ten times slower and finds broken text only when it is read.
if api_implementation.Type() == "python":
    raise ImportError(
        "Askew needs protobuf's compiled runtime (upb), and this is another: unset"
        " PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION, or install protobuf from a wheel",
        name="google.protobuf",
    )

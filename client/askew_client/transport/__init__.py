"""Ways to a server, whatever they are made of."""

import os

# gRPC's own log repeats text of the server and of each failed handshake; it reads this when it is
# imported, by a module of this package.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

"""What a device and a server agree on: cards, signals, replies and modes, without protobuf."""

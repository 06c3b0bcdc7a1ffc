"""Generated from proto/askew/wire/v1; see `make proto`."""

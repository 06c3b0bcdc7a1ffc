"""Rules that turn charges into one privacy loss."""

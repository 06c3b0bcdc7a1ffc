"""The device's role: it holds the profile, asks, and picks in private."""

"""The kernel's randomness, and exact draws of every noise that a device or a server adds."""

"""What left the device, and what that cost."""

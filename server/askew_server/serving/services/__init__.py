"""What answers calls: bytes in, bytes or a job out, whatever carries them."""

"""What the modes of a collection take and give."""

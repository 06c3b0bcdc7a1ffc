"""Files and databases that nobody else reads."""

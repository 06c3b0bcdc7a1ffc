"""Files and databases that nobody else reads, and when private work may be done."""

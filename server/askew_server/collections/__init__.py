"""Collections over a metric space: what they hold in columns, and where they come from."""

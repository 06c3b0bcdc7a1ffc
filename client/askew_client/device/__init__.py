"""All that a screen or a command does for a person, without a screen."""

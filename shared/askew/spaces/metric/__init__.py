"""Wide spaces: maps, lines and rings, where distances are kilometers or hours and not tastes."""

"""`askew demo`: a made-up person's exchange, explained on the screen."""

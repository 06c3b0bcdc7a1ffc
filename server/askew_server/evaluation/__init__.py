"""What a rule is worth on ratings, always beside the slate that knows nothing of the person."""

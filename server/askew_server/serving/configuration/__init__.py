"""What an operator decides, as values that are valid because they exist."""

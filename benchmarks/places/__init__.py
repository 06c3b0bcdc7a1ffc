"""What the rules of maps, lines and rings are worth to people who are somewhere."""

"""What the rules of maps and lines are worth to people who are somewhere."""

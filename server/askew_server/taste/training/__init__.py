"""What is learned from ratings: factors and a space."""

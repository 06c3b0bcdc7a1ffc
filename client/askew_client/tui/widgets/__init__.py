"""What screens are made of. Widgets show what they are given; they know no store, no network."""

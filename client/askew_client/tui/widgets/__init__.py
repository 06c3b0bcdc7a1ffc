"""What the screens are made of. Widgets show what they are given; they know no store and no network."""

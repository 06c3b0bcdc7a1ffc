"""What is learned from ratings: factors, a space, buckets; and how good picks are."""

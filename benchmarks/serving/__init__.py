"""What the benchmarks of a running server are made of: load, windows, figures, models."""

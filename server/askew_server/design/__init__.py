"""Public designs made from what training may look at: signal directions, buckets, prior tables."""

"""From a noisy signal to k items."""

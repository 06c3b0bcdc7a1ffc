"""The server's role: it trains a model and answers noisy signals."""

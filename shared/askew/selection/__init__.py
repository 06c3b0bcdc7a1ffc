"""Selection in one line: `askew.top_k`."""

"""Selection in one line: `askew.top_k`, and what to expect of it, `askew.explain_top_k`."""

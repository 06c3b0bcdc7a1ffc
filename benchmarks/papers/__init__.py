"""The main figures of four papers, computed anew with our own mechanisms. One module a paper."""

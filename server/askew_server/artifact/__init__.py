"""Models as directories of data: files, the digests that a card gives them, arrays, no code."""

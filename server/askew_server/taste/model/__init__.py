"""A trained model: what it is made of, and the files that hold it."""

"""The release job: from public parameters to a charge, to a stored popularity list."""

"""People whom the server may know, and where it knows them from."""

"""Named places and questions near them: what is known, what is sent again, and the private pick."""

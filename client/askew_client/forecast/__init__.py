"""What a choice of epsilon and k would give, played on the device."""

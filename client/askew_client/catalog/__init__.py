"""What a device holds of a catalog: fetched by a public calendar, checked, and kept."""

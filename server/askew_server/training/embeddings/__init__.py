"""Item and user vectors of another model: read, checked, and made fit for devices."""

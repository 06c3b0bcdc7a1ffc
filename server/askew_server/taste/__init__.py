"""Models of tastes: trained, imported, stored and described."""

"""Stored public releases, read and never written."""

"""Backups: one instant of the store, kept apart from it and brought back from there."""

"""Backups: one instant of the store, kept elsewhere and restored from there."""

"""Reads kb's own export."""

"""Finds the passages that answer a question."""

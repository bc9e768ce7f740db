"""Cuts pages into passages."""

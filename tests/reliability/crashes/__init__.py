"""Engines killed at any moment, and what they confirmed before."""

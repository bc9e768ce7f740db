"""Checks a store, and repairs what can be repaired."""

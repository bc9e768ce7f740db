"""Reads web pages, and leaves out only what is surely not content."""

"""Texts in, filled data folders and questions about them out."""

"""Retrieval sets in, rankings out."""

"""Reads web pages: what is surely not content is left out, and nothing else."""

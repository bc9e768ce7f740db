"""Rebuilds a damaged database with everything that can be saved."""

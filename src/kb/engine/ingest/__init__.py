"""Takes documents in: from a file to the passages that are searched."""

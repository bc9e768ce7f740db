"""A question in, the passages that answer it out."""

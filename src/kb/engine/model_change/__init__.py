"""Changes the embedding model: what callers may ask for, and how every vector is replaced."""

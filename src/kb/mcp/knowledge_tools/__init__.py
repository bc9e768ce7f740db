"""The knowledge-* tools, for clients that were written for them."""

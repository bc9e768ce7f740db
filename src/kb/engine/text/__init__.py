"""Text in, the terms it is indexed and found by out."""

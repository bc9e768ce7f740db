"""File in, passages out."""

"""Pages in, passages out: where text is cut."""

"""Files that agents send in pieces, kept until they are whole."""

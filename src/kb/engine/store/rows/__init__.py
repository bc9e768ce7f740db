"""What a document is in the tables, written and read inside a transaction."""

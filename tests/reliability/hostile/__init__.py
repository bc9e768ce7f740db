"""Files that were made to do harm."""

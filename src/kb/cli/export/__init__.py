"""A knowledge base in, a folder of files that a person can read out."""

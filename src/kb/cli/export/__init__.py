"""`kb export`: writes the knowledge base into a folder of files that a person can read."""

"""The database as a file: its connections, its pages, its reserve, and damage to it."""

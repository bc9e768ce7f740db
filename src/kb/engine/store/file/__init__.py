"""The database as a file: its connections, its pages, the room it needs, and damage to it."""

"""A damaged database in, a new one with all that can be had of it out."""

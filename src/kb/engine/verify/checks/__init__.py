"""A store in, what is wrong with one part of it out: one module for each part."""

"""The checks, one module for each part of a store."""

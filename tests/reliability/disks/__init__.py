"""Disks that fail, forget or are full, and what was confirmed before."""

"""Reads what kb and other programs exported: one module for each program."""

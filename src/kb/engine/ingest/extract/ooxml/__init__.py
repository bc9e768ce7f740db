"""Reads Office files of zipped XML."""

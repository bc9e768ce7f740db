"""The data folder: the right to use it, its originals, and exchanging the store in it."""

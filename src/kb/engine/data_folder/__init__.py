"""The data folder: who may use it, its originals, and how a store is exchanged in it."""

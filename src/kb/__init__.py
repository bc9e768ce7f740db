"""kb: documents and notes in, the right passage out."""

__version__ = "3.0.0"

"""Parts of reading OpenDocument files."""

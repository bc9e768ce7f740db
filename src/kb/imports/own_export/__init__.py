"""kb's own export, read back."""

"""The `kb` command: terminal in, client calls out."""

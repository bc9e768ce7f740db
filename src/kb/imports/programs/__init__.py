"""The programs whose exports are read, one module each."""

"""The programs whose exports are read, a module each."""

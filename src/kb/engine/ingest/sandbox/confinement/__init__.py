"""Takes from a process everything it could do harm with: limits and locks."""

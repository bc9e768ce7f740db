"""Takes everything from a process that it could do harm with: limits and locks."""

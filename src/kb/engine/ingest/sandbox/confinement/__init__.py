"""A process in, the same out with nothing left to do harm with: limits and locks."""

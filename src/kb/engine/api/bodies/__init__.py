"""What callers send, checked before a route sees it."""

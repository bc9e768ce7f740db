"""The terms that text is indexed and found by."""

"""`kb add`: which files, which of them are new, and sending them."""

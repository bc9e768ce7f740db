"""The pages of manuals, as `man` shows them."""

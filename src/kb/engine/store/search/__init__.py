"""What a search looks at: the index in memory, words, vectors, and one look at all of them."""

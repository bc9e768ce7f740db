"""Books: EPUB, FictionBook, and those of Kindle readers and Palm organisers."""
